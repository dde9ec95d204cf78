"""Canonical order and spelling, bases, duplicates, hidden plugins, typed parameters."""

from __future__ import annotations

from typing import Literal

import pytest

from harness import PluginError, UsageError, hookimpl, method
from tests.host.plugins import stack


@method
class Root:
    """What the others stand on."""

    beta: float = 0.04
    clip: float = 0.2

    @hookimpl
    def estimate_advantages(self, batch):
        return batch.reward

    @hookimpl
    def policy_loss(self, output):
        return -output.logp


@method(base="root(beta=0)")
class Alpha:
    """Replaces the loss."""

    mode: Literal["hard", "soft"] = "hard"
    window: tuple[int, int] = (1, 2)
    cap: float | None = None
    count: int = 3
    on: bool = True

    @hookimpl
    def policy_loss(self, output):
        return output.logp


@method(base="alpha(count=4)", needs={"entropy"})
class Beta:
    """Replaces the advantages."""

    @hookimpl
    def estimate_advantages(self, batch):
        return batch.reward


@method(base="root(beta=0)", needs=lambda m: {"reference"} if m.gamma else set())
class Wrap:
    """Only wraps."""

    gamma: float = 1.0

    @hookimpl(wrapper=True)
    def estimate_advantages(self):
        return (yield)


@method(base="root")
class Wrap2:
    """Only wraps, too."""

    @hookimpl(wrapper=True)
    def policy_loss(self):
        return (yield)


ALL = (Root, Alpha, Beta, Wrap, Wrap2)


def labels(text):
    return [label for label, _ in stack(text, *ALL).plugins]


def test_plain_plugins_come_first_then_those_that_only_wrap_each_in_the_order_given():
    assert stack("wrap2+alpha+wrap+beta", *ALL).canonical == "alpha+beta+wrap2+wrap"
    assert stack("wrap+wrap2", *ALL).canonical == "wrap+wrap2"


def test_only_the_first_plugin_of_the_canonical_stack_gets_its_base():
    assert labels("alpha") == ["root", "alpha"]
    assert labels("wrap+alpha+beta") == ["root", "alpha", "beta", "wrap"]
    assert labels("beta") == ["root", "alpha", "beta"]
    assert labels("wrap2+wrap") == ["root", "wrap2", "wrap"]
    assert stack("beta", *ALL).plugins[1][1].count == 4
    assert stack("alpha", *ALL).plugins[0][1].beta == 0


def test_a_base_is_changed_by_writing_it():
    changed = stack("root(clip=0.3)+alpha", *ALL)
    assert [label for label, _ in changed.plugins] == ["root", "alpha"]
    assert changed.plugins[0][1].clip == 0.3
    assert changed.plugins[0][1].beta == 0.04  # parameters are never handed down


def test_bases_that_go_round_in_a_circle_are_an_error():
    def implementation(self, batch):
        return batch.reward

    one = method(base="two", name="one")(type("One", (), {"estimate_advantages": hookimpl(implementation)}))
    two = method(base="one", name="two")(type("Two", (), {"estimate_advantages": hookimpl(implementation)}))
    with pytest.raises(PluginError, match=r"one -> two -> one"):
        stack("one", one, two)


def test_the_canonical_spelling_sorts_parameters_and_leaves_defaults_out():
    text = "alpha(window=[1, 5], cap=2.0, count=3, mode='soft')+wrap(gamma=1)"
    assert stack(text, *ALL).canonical == "alpha(cap=2, mode='soft', window=(1, 5))+wrap"
    assert stack("root(beta=0)", *ALL).canonical == stack("root(beta=0.0)", *ALL).canonical == "root(beta=0)"


def test_the_canonical_spelling_names_itself():
    for text in ("beta+wrap(gamma=2)", "wrap+root(beta=0, clip=0.5)", "alpha(cap=None)"):
        once = stack(text, *ALL).canonical
        assert stack(once, *ALL).canonical == once


def test_the_same_plugin_twice_is_an_error_unless_it_only_wraps():
    with pytest.raises(UsageError, match=r"'root' stands twice in 'root\+root'"):
        stack("root+root", *ALL)
    with pytest.raises(UsageError, match=r"'root' stands twice.*already there as a base"):
        stack("alpha+root", *ALL)
    assert labels("alpha+wrap+wrap(gamma=2)") == ["root", "alpha", "wrap", "wrap#2"]


def test_a_plugin_that_is_hidden_altogether_is_an_error_that_names_who_hides_it():
    @method
    class Gamma:
        @hookimpl
        def policy_loss(self, output):
            return output.logp

        @hookimpl
        def start(self):
            return None

    with pytest.raises(UsageError, match=r"'alpha' hides policy_loss of 'gamma' in 'gamma\+alpha'"):
        stack("gamma+alpha", Gamma, *ALL)


def test_replacing_a_part_of_a_plugin_is_what_stacking_is_for():
    assert labels("alpha+beta") == ["root", "alpha", "beta"]
    assert labels("root+beta") == ["root", "beta"]


def test_plugins_are_fresh_instances_per_stack():
    assert stack("alpha", *ALL).plugins[1][1] is not stack("alpha", *ALL).plugins[1][1]


def test_needs_are_the_union_over_the_stack():
    assert stack("beta+wrap", *ALL).needs == {"entropy", "reference"}
    assert stack("beta+wrap(gamma=0)", *ALL).needs == {"entropy"}
    assert stack("root", *ALL).needs == frozenset()


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("alhpa", "unknown method 'alhpa'. Did you mean 'alpha'"),
        ("alpha(coutn=1)", "method 'alpha' has no parameter 'coutn'. Did you mean 'count'"),
        ("beta(x=1)", "has no parameter 'x'; it takes none"),
        ("alpha(count=1.5)", r"alpha\(count=1.5\): expected int \(default 3\), got float"),
        ("alpha(count=True)", "expected int .* got bool"),
        ("alpha(on=1)", "expected bool .* got int"),
        ("alpha(mode='sotf')", "expected one of 'hard', 'soft'"),
        ("alpha(window=(1, 2, 3))", "expected tuple"),
        ("alpha(window=(1, 'x'))", "expected tuple"),
        ("alpha(cap='x')", r"expected float \| None"),
        ("alpha(cap=(1,))", r"expected float \| None \(default None\), got tuple"),
        ("alpha(window=3)", r"alpha\(window=3\): expected tuple\[int, int\] \(default \(1, 2\)\), got int"),
        ("root(beta='0.1')", r"root\(beta='0.1'\): expected float \(default 0.04\), got str"),
        ("root(beta=None)", "expected float"),
        ("root(beta=True)", "expected float"),
    ],
)
def test_parameters_are_typed(text, match):
    with pytest.raises(UsageError, match=match):
        stack(text, *ALL)


def test_equal_numbers_are_one_name():
    names = {stack(f"root(beta={value})", *ALL).canonical for value in ("1e-4", "0.0001", "1.0e-4", "0.00010")}
    assert names == {"root(beta=0.0001)"}
    assert stack("root(beta=4e-2)", *ALL).canonical == "root"
    assert {stack(f"root(beta={value})", *ALL).canonical for value in ("-0.0", "0", "0.0")} == {"root(beta=0)"}


def test_a_type_that_only_a_type_checker_knows_is_that_of_the_default():
    @method
    class Lazy:
        kind: OnlyForTypeCheckers = "a"  # noqa: F821
        count: int = 3
        rest: AlsoUnknown = None  # noqa: F821

    for text, match in (("lazy(kind=3)", "expected str"), ("lazy(count='x')", "expected int")):
        with pytest.raises(UsageError, match=match):
            stack(text, Lazy)
    assert stack("lazy(rest=3, kind='b')", Lazy).canonical == "lazy(kind='b', rest=3)"


def test_lists_and_dicts_are_told_from_other_values():
    @method
    class Holder:
        names: list[str] | None = None
        table: dict[str, float] | None = None

    assert stack("holder(names=['a'], table={'a': 1.0})", Holder).canonical == "holder(names=['a'], table={'a': 1})"
    for text in ("holder(names='a')", "holder(table=['a'])"):
        with pytest.raises(UsageError, match=r"expected (list|dict)\["):
            stack(text, Holder)


def test_accepted_values_have_the_type_of_the_field():
    plugin = stack("alpha(cap=2, window=[4, 5], on=False)", *ALL).plugins[1][1]
    assert (plugin.cap, plugin.window, plugin.on) == (2.0, (4, 5), False)
    assert isinstance(plugin.cap, float)
    assert isinstance(stack("root(beta=1)", *ALL).plugins[0][1].beta, float)


def test_a_value_that_the_plugin_itself_refuses_is_a_usage_error():
    @method
    class Picky:
        size: int = 1

        def __post_init__(self):
            if self.size < 1:
                raise ValueError("size must be positive")

    with pytest.raises(UsageError, match=r"picky\(size=0\): size must be positive"):
        stack("picky(size=0)", Picky)


def test_flags_of_a_stack_are_those_of_any_plugin():
    @method(clips=True, direct=True, experimental=True)
    class Special:
        @hookimpl
        def loss(self, output):
            return output.logp.sum()

    special = stack("special+wrap", Special, *ALL)
    assert (special.clips, special.direct, special.experimental) == (False, "special", True)
    plain = stack("root+wrap", *ALL)
    assert (plain.clips, plain.direct, plain.experimental) == (False, None, False)


def test_a_stack_clips_where_the_loss_in_force_does():
    @method(clips=True)
    class Clip:
        @hookimpl
        def policy_loss(self, output):
            return output.logp

    @method(base="clip")
    class Cap:
        @hookimpl
        def policy_loss(self, output):
            return output.logp

    @method
    class Whole:
        @hookimpl
        def loss(self, output):
            return output.logp.sum()

    @method(base="cap", clips=True)
    class Bound:
        @hookimpl(wrapper=True)
        def policy_loss(self):
            return (yield)

    found = {text: stack(text, Clip, Cap, Whole, Bound).clips for text in ("clip", "cap", "cap+whole", "bound")}
    assert found == {"clip": True, "cap": False, "cap+whole": False, "bound": True}


def test_spec_records_all_parameters_version_and_digest():
    spec = stack("alpha(cap=2)+wrap", *ALL).spec()
    assert spec["canonical"] == "alpha(cap=2)+wrap"
    assert [plugin["label"] for plugin in spec["plugins"]] == ["root", "alpha", "wrap"]
    assert [plugin["given"] for plugin in spec["plugins"]] == [False, True, True]
    alpha = spec["plugins"][1]
    assert alpha["params"] == {"mode": "hard", "window": (1, 2), "cap": 2.0, "count": 3, "on": True}
    assert len(alpha["digest"]) == 64


def test_the_digest_covers_the_sources_of_parent_classes(tmp_path, monkeypatch):
    import importlib

    (tmp_path / "parent_source.py").write_text(
        "from harness import hookimpl, method\n\n@method\nclass Parent:\n"
        "    @hookimpl\n    def keep(self, batch):\n        return batch.kept\n"
    )
    (tmp_path / "child_source.py").write_text(
        "from harness import method\nfrom parent_source import Parent\n\n@method\nclass Child(Parent):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    child = importlib.import_module("child_source").Child
    before = stack("child", child).spec()["plugins"][0]["digest"]
    parent = tmp_path / "parent_source.py"
    parent.write_text(parent.read_text() + "\n# changed\n")
    assert stack("child", child).spec()["plugins"][0]["digest"] != before
