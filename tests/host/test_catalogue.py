"""Finding methods by entry point and file, describing them from their source, importing them on use."""

import json
import subprocess
import sys

import pytest

from harness import PluginError, UsageError
from harness.host import build_stack, discover

PARENT = '''
"""A module."""
from __future__ import annotations

from harness import hookimpl, method


@method(paper="2601.00001", base="root(beta=0)", needs=lambda m: {"reference"} if m.beta else set(), experimental=True)
class Parent:
    """The idea in a sentence.

    The formula.
    """

    beta: float = -1e-3
    modes: tuple[str, ...] = ("a", "b")

    @hookimpl
    def estimate_advantages(self, batch):
        return batch.reward

    @hookimpl(wrapper=True)
    def policy_loss(self):
        return (yield)
'''
CHILD = '''
from harness import hookimpl, method
from {package}.parent import Parent


@method(paper="2601.00002")
class Child(Parent):
    """Another idea."""

    extra: int = 3
    beta: float = 0.5

    @hookimpl
    def keep(self, batch):
        return batch.kept
'''


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Make distributions: install(name, version, {module: source}, {slug: target})."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in [name for name in sys.modules if name.startswith("zoo_")]:
        monkeypatch.delitem(sys.modules, name)

    def make(name, version, modules, points):
        site = tmp_path / name
        package = site / name.replace("-", "_")
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise RuntimeError('listing must not import packages')\n")
        for module, source in modules.items():
            (package / f"{module}.py").write_text(source.replace("{package}", package.name))
        info = site / f"{package.name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = [f"{slug} = {package.name}.{target}" for slug, target in points.items()]
        (info / "entry_points.txt").write_text("[harness.methods]\n" + "\n".join(lines) + "\n")
        monkeypatch.syspath_prepend(site)
        return package

    return make


def importable(package):
    (package / "__init__.py").write_text("")


def test_entries_are_described_from_source_without_importing(install):
    install(
        "zoo-one",
        "1.2",
        {"parent": PARENT, "child": CHILD},
        {"zoo-parent": "parent:Parent", "zoo-child": "child:Child"},
    )
    catalogue = discover()
    parent, child = catalogue["zoo-parent"], catalogue["zoo-child"]
    assert (parent.distribution, parent.version, parent.paper, parent.base) == (
        "zoo-one",
        "1.2",
        "2601.00001",
        "root(beta=0)",
    )
    assert parent.doc.splitlines()[0] == "The idea in a sentence."
    assert [(field.name, field.type, field.default) for field in parent.fields] == [
        ("beta", "float", "-0.001"),
        ("modes", "tuple[str, ...]", "('a', 'b')"),
    ]
    assert parent.hooks == {"estimate_advantages": "plain", "policy_loss": "wrapper"}
    assert parent.experimental
    assert "m.beta" in parent.needs
    assert (child.paper, child.base, child.experimental) == ("2601.00002", "root(beta=0)", True)
    assert [(field.name, field.default) for field in child.fields] == [
        ("beta", "0.5"),
        ("modes", "('a', 'b')"),
        ("extra", "3"),
    ]
    assert list(child.hooks) == ["keep", "estimate_advantages", "policy_loss"]
    assert child.doc == "Another idea."
    assert "zoo_one" not in sys.modules


def test_a_listing_is_read_from_the_cache_until_a_file_changes(install, tmp_path):
    package = install("zoo-one", "1", {"parent": PARENT}, {"zoo-parent": "parent:Parent"})
    discover()
    (file,) = (tmp_path / "cache" / "policy-harness").glob("methods-*.json")
    records = json.loads(file.read_text())
    key = next(name for name in records if name.endswith("zoo_one/parent.py"))
    records[key]["cards"][0]["doc"] = "From the cache."
    file.write_text(json.dumps(records))
    assert discover()["zoo-parent"].doc == "From the cache."
    (package / "parent.py").write_text(PARENT.replace("The idea in a sentence.", "A changed idea in a sentence."))
    assert discover()["zoo-parent"].doc.startswith("A changed idea")


@pytest.mark.parametrize("content", ["", "[]", "{", '{"x": 1}'])
def test_a_broken_cache_is_ignored(install, tmp_path, content):
    install("zoo-one", "1", {"parent": PARENT}, {"zoo-parent": "parent:Parent"})
    discover()
    (file,) = (tmp_path / "cache" / "policy-harness").glob("methods-*.json")
    file.write_text(content)
    assert discover()["zoo-parent"].paper == "2601.00001"


def test_a_clash_of_names_is_an_error_that_names_both_and_how_to_choose(install):
    for name, version in (("zoo-one", "1.0"), ("zoo-two", "2.0")):
        importable(
            install(name, version, {"parent": PARENT.replace('base="root(beta=0)", ', "")}, {"gtpo": "parent:Parent"})
        )
    catalogue = discover()
    assert "gtpo@zoo-one" in catalogue
    assert "gtpo" not in catalogue
    with pytest.raises(
        UsageError,
        match=r"'gtpo' is offered by 'zoo-one 1.0' and 'zoo-two 2.0'; choose with gtpo@zoo-one or gtpo@zoo-two",
    ):
        build_stack("gtpo", catalogue)
    stack = build_stack("gtpo@zoo-two(beta=2)", catalogue)
    assert stack.canonical == "gtpo@zoo-two(beta=2)"
    assert stack.spec()["plugins"][0]["distribution"] == "zoo-two"
    with pytest.raises(UsageError, match=r"not offered by 'zoo-tow'. Did you mean 'zoo-two'"):
        build_stack("gtpo@zoo-tow", catalogue)


def test_a_distribution_that_was_not_needed_is_left_out_of_the_spelling(install):
    importable(
        install(
            "zoo-one", "1", {"parent": PARENT.replace('base="root(beta=0)", ', "")}, {"zoo-parent": "parent:Parent"}
        )
    )
    assert build_stack("zoo-parent@zoo-one").canonical == "zoo-parent"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "import nonexistent_module_xyz\n" + PARENT,
            "needs the module 'nonexistent_module_xyz', which is not installed",
        ),
        ("def broken(:\n", "is not valid Python"),
        ("x = 1\n", "defines no class Parent"),
    ],
)
def test_a_plugin_that_cannot_be_imported_stays_listed_with_its_reason(install, source, reason):
    importable(install("zoo-bad", "1", {"parent": source}, {"zoo-bad": "parent:Parent"}))
    catalogue = discover()
    assert reason in catalogue["zoo-bad"].error
    with pytest.raises(
        PluginError, match=r"method 'zoo-bad' of zoo-bad 1 cannot be imported from zoo_bad.parent:Parent"
    ):
        build_stack("zoo-bad", catalogue)


def test_a_module_that_is_not_there_is_listed_too(install):
    install("zoo-gone", "1", {}, {"zoo-gone": "nowhere:Thing"})
    assert discover()["zoo-gone"].error == "module zoo_gone.nowhere is not found"


def test_a_class_that_is_no_method_is_refused_when_used(install):
    importable(install("zoo-plain", "1", {"plain": "class Thing:\n    pass\n"}, {"zoo-plain": "plain:Thing"}))
    with pytest.raises(PluginError, match=r"is no class decorated with @method"):
        build_stack("zoo-plain")


def test_a_method_that_breaks_a_rule_says_whose_it_is(install):
    source = PARENT.replace("def estimate_advantages(self, batch)", "def estimate_advantage(self, batch)")
    importable(install("zoo-rule", "3", {"parent": source}, {"zoo-rule": "parent:Parent"}))
    with pytest.raises(PluginError, match=r"method 'zoo-rule' of zoo-rule 3: Parent.estimate_advantage is decorated"):
        build_stack("zoo-rule")


def test_a_name_passed_on_by_another_module_is_followed(install):
    modules = {"parent": PARENT, "front": "from {package}.parent import Parent\n"}
    install("zoo-front", "1", modules, {"zoo-front": "front:Parent"})
    assert discover()["zoo-front"].paper == "2601.00001"


def test_relative_imports_of_a_parent_are_followed(install):
    child = CHILD.replace("from {package}.parent", "from .parent")
    install("zoo-rel", "1", {"parent": PARENT, "child": child}, {"zoo-rel": "child:Child"})
    assert list(discover()["zoo-rel"].hooks) == ["keep", "estimate_advantages", "policy_loss"]


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_file_gives_every_method_in_it(tmp_path):
    file = tmp_path / "my_ideas.py"
    file.write_text(
        PARENT.replace('base="root(beta=0)", ', "")
        + "\n\n@method(name='other-name')\nclass Second(Parent):\n    '''Two.'''\n\n\nclass Helper:\n    pass\n"
    )
    catalogue = discover([file])
    assert catalogue["parent"].origin == "my_ideas"
    assert catalogue["other-name"].hooks == catalogue["parent"].hooks
    assert "helper" not in catalogue
    stack = build_stack("other-name(beta=0)", catalogue)
    assert stack.canonical == "other-name(beta=0)"
    assert stack.plugins[0][1].modes == ("a", "b")
    again = build_stack("parent", discover([file, str(file)]))
    assert type(stack.plugins[0][1]).__mro__[1] is type(again.plugins[0][1])


def test_a_changed_file_is_executed_anew(tmp_path):
    file = tmp_path / "my_ideas.py"
    source = PARENT.replace('base="root(beta=0)", ', "")
    file.write_text(source)
    before = build_stack("parent", discover([file]))
    file.write_text(source.replace("-1e-3", "0.25"))
    after = build_stack("parent", discover([file]))
    assert (before.plugins[0][1].beta, after.plugins[0][1].beta) == (-1e-3, 0.25)
    assert before.spec()["plugins"][0]["digest"] != after.spec()["plugins"][0]["digest"]


def test_a_file_that_offers_an_installed_name_is_a_clash(install, tmp_path):
    install("zoo-one", "1", {"parent": PARENT}, {"parent": "parent:Parent"})
    file = tmp_path / "my_copy.py"
    file.write_text(PARENT)
    with pytest.raises(UsageError, match=r"offered by 'my_copy' and 'zoo-one 1'; choose with parent@my_copy"):
        discover([file]).find("parent")


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("gone.py", None, "does not exist"),
        ("empty.py", "x = 1\n", "has no class decorated with @method"),
        ("broken.py", "def x(:\n", "is not valid Python"),
    ],
)
def test_files_without_methods_say_why(tmp_path, name, content, match):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UsageError, match=match):
        discover([tmp_path / name])


# -- speed -------------------------------------------------------------------------------------------------------------


def test_listing_imports_neither_torch_nor_the_plugins():
    code = (
        "import sys\nfrom harness.host import discover\nassert len(discover()) >= 0\n"
        "heavy = {'torch', 'mlflow', 'numpy', 'transformers'} & set(sys.modules)\nassert not heavy, heavy\n"
        "assert not [name for name in sys.modules if name.startswith('harness_papers')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
