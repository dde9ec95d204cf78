"""`@method`: keyword-only dataclasses, compared by identity, whose fields never change."""

import dataclasses

import pytest

from harness import PluginError, hookimpl, method
from harness.host import needs_of
from harness.host.info import slug_of


@method(paper="1234.5678", base="grpo(beta=0)", needs={"entropy"}, clips=True, scope="group")
class Sample:
    """The idea in a sentence."""

    eps: float = 1e-4
    kind: str = "a"

    @hookimpl
    def estimate_advantages(self, batch):
        return batch.reward

    @hookimpl(wrapper=True)
    def policy_loss(self):
        return (yield)


def test_info_holds_what_the_decorator_was_told():
    info = Sample.info
    assert (info.slug, info.paper, info.base, info.scope, info.clips) == (
        "sample",
        "1234.5678",
        "grpo(beta=0)",
        "group",
        True,
    )
    assert info.hooks == {"estimate_advantages": "plain", "policy_loss": "wrapper"}
    assert info.doc == "The idea in a sentence."
    assert not info.only_wraps


def test_instances_take_keywords_only_and_are_compared_by_identity():
    with pytest.raises(TypeError):
        Sample(1e-3)
    assert Sample() != Sample()
    assert len({Sample(), Sample()}) == 2
    assert dataclasses.is_dataclass(Sample)
    assert repr(Sample(eps=0.5)) == "Sample(eps=0.5, kind='a')"


def test_fields_are_read_only_and_other_attributes_are_state():
    plugin = Sample()
    with pytest.raises(AttributeError, match=r"Sample\.eps is a hyper-parameter and read-only"):
        plugin.eps = 0.1
    plugin.ema = 0.5
    plugin.ema = 0.6
    assert plugin.ema == 0.6


def test_a_subclass_inherits_hooks_fields_and_what_it_leaves_out():
    @method(paper="9")
    class Child(Sample):
        """Another idea."""

        extra: int = 3

        @hookimpl
        def estimate_advantages(self, batch):
            return 2 * super().estimate_advantages(batch)

    child = Child(eps=0.5, extra=4)
    assert (child.eps, child.kind, child.extra) == (0.5, "a", 4)
    assert (Child.info.paper, Child.info.base, Child.info.needs, Child.info.clips) == (
        "9",
        "grpo(beta=0)",
        {"entropy"},
        True,
    )
    assert Child.info.hooks == Sample.info.hooks
    assert Sample.info.paper == "1234.5678"
    with pytest.raises(AttributeError, match=r"read-only"):
        child.eps = 1


def test_needs_are_a_set_or_a_function_of_the_instance():
    @method(needs=lambda m: {"reference"} if m.beta else set())
    class Conditional:
        beta: float = 0.1

    assert needs_of(Sample()) == {"entropy"}
    assert needs_of(Conditional()) == {"reference"}
    assert needs_of(Conditional(beta=0.0)) == frozenset()


def test_unknown_needs_are_refused_with_the_nearest():
    with pytest.raises(PluginError, match=r"unknown need 'refrence'. Did you mean 'reference'"):
        method(needs={"refrence"})(type("Bad", (), {}))
    with pytest.raises(PluginError, match=r"needs must be a set"):
        method(needs="reference")(type("Bad", (), {}))


def test_every_field_needs_a_literal_default():
    with pytest.raises(PluginError, match=r"Bad\.beta: every hyper-parameter needs a default"):

        @method
        class Bad:
            beta: float

    with pytest.raises(PluginError, match=r"Worse\.beta: every hyper-parameter needs a default"):

        @method
        class Worse:
            beta: object = object()

    assert method(type("Fine", (), {"__annotations__": {"top": float}, "top": float("inf")}))().top == float("inf")


def test_decorator_arguments_are_checked():
    with pytest.raises(PluginError, match=r"scope must be"):
        method(scope="token")(type("Bad", (), {}))
    for name in ("MyIdea", "my idea", "-x", "a+b", "a(b)"):
        with pytest.raises(PluginError, match=r"cannot be written in a stack; use a-z"):
            method(name=name)(type("Bad", (), {}))
    with pytest.raises(PluginError, match=r"paper must be a string"):
        method(paper=2601.05242)(type("Bad", (), {}))


def test_a_misspelt_argument_of_the_decorator_names_the_nearest():
    with pytest.raises(PluginError, match=r"^Bad: @method has no argument 'netural'\. Did you mean 'neutral'\?$"):
        method(netural={"share": 0.0})(type("Bad", (), {}))
    with pytest.raises(PluginError, match=r"takes named arguments, @method\(base='grpo'\), not 'dapo'$"):
        method("dapo")


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("GDPO", "gdpo"),
        ("MyMethod", "my-method"),
        ("DrGRPO", "dr-grpo"),
        ("TopK2", "top-k2"),
        ("My_Method", "my-method"),
    ],
)
def test_slugs_come_from_the_class_name(name, slug):
    assert slug_of(name) == slug
