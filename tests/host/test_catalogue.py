"""Finding methods by entry point, describing them from their source, importing them on use."""

import json
import subprocess
import sys

import pytest

from harness import PluginError
from harness.host import build_stack, discover
from tests.host.sources import ALONE, CHILD, PARENT, importable


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


def test_an_instance_in_place_of_a_class_says_which_class(install):
    source = ALONE + "\n\nmade = Parent()\nnumber = 3\n"
    points = {"zoo-made": "own:made", "zoo-number": "own:number", "zoo-lost": "own:lost"}
    importable(install("zoo-one", "1.0", {"own": source}, points))
    for name, message in (
        (
            "zoo-made",
            "zoo_one.own:made is no class decorated with @method but an instance of Parent; name its class Par",
        ),
        ("zoo-number", "zoo_one.own:number is no class decorated with @method but a int"),
        ("zoo-lost", "AttributeError"),
    ):
        with pytest.raises(PluginError, match=message) as caught:
            build_stack(name)
        assert caught.value.exit_code == 2


@pytest.mark.parametrize("value", ["nonsense", "a b:c", ":X", "zoo_one.own", "zoo_one.own:"])
def test_an_entry_point_that_is_no_place_is_listed_with_its_reason(install, value):
    package = install("zoo-one", "1.0", {"own": ALONE}, {})
    records = next(package.parent.glob("*.dist-info")) / "entry_points.txt"
    records.write_text(f"[harness.methods]\nzoo-odd = {value}\n")
    catalogue = discover()
    assert "which is not module:Class" in catalogue["zoo-odd"].error
    assert catalogue.status(catalogue["zoo-odd"]) == "failed"
    with pytest.raises(PluginError, match=r"'zoo-odd' of zoo-one 1.0 has the entry point"):
        build_stack("zoo-odd", catalogue)


def test_a_name_that_cannot_be_written_in_a_stack_is_listed_with_its_reason(install):
    package = install("zoo-one", "1.0", {"own": ALONE}, {})
    records = next(package.parent.glob("*.dist-info")) / "entry_points.txt"
    records.write_text("[harness.methods]\nmy idea = zoo_one.own:Parent\n")
    assert "'my idea', which cannot be written in a stack" in discover()["my idea"].error


@pytest.mark.parametrize("content", [b"[harness.methods]\nno equals sign\n", b"\xff\xfe", b"no section\n"])
def test_a_distribution_with_broken_records_does_not_break_the_listing(install, content):
    package = install("zoo-one", "1.0", {"own": ALONE}, {})
    (next(package.parent.glob("*.dist-info")) / "entry_points.txt").write_bytes(content)
    importable(install("zoo-two", "1.0", {"own": ALONE}, {"zoo-fine": "own:Parent"}))
    catalogue = discover()
    assert catalogue.status(catalogue["zoo-fine"]) == "ok"
    assert catalogue["placebo"].distribution == "policy-harness"


def test_a_distribution_without_metadata_still_offers_its_methods(install):
    package = install("zoo-one", "1.0", {"own": ALONE}, {"zoo-bare": "own:Parent"})
    importable(package)
    (next(package.parent.glob("*.dist-info")) / "METADATA").unlink()
    assert build_stack("zoo-bare").canonical == "zoo-bare"


def test_a_stale_record_of_an_uninstalled_package_is_listed_and_hurts_nobody(install):
    """Left behind: the package is gone, its dist-info is not."""
    package = install("zoo-gone", "1.0", {"own": ALONE}, {"zoo-gone": "own:Parent"})
    for file in package.iterdir():
        file.unlink()
    package.rmdir()
    catalogue = discover()
    assert catalogue["zoo-gone"].error == "module zoo_gone.own is not found"
    assert build_stack("placebo", catalogue).canonical == "placebo"


# -- what is cheap -----------------------------------------------------------------------------------------------------


def test_a_hundred_and_fifty_methods_are_listed_and_none_is_opened(install):
    names = [f"zoo-{number}" for number in range(150)]
    modules = {f"m{number}": ALONE for number in range(150)}
    install("zoo-many", "1.0", modules, {name: f"m{number}:Parent" for number, name in enumerate(names)})
    assert set(names) <= set(discover())
    assert not set(modules) & set(sys.modules)


def test_listing_imports_neither_torch_nor_the_plugins():
    code = (
        "import sys\nfrom harness.host import discover\nassert len(discover()) >= 0\n"
        "heavy = {'torch', 'mlflow', 'numpy', 'transformers'} & set(sys.modules)\nassert not heavy, heavy\n"
        "assert not [name for name in sys.modules if name.startswith('harness_papers')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
