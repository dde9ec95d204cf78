"""One name from several providers: nobody guesses which is meant."""

import pytest

from harness import PluginError, UsageError
from harness.errors import UnusablePlugin
from harness.host import build_stack, discover
from tests.host.sources import ALONE, importable


def test_a_clash_of_names_is_an_error_that_names_both_and_how_to_choose(install):
    for name, version in (("zoo-one", "1.0"), ("zoo-two", "2.0")):
        importable(install(name, version, {"parent": ALONE}, {"gtpo": "parent:Parent"}))
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
    importable(install("zoo-one", "1", {"parent": ALONE}, {"zoo-parent": "parent:Parent"}))
    assert build_stack("zoo-parent@zoo-one").canonical == "zoo-parent"


# -- with the harness's own, with files, within one distribution ---------------------------------------------------

GRPO = ALONE.replace("class Parent", "class GRPO")


def test_a_third_party_name_that_clashes_with_a_first_party_one_is_no_different(install):
    importable(install("zoo-one", "1.0", {"own": GRPO}, {"grpo": "own:GRPO"}))
    catalogue = discover()
    with pytest.raises(
        UsageError, match=r"'grpo' is offered by 'policy-harness [\d.]+' and 'zoo-one 1.0'; choose with"
    ):
        build_stack("grpo(beta=0)", catalogue)
    with pytest.raises(UsageError, match=r"grpo@zoo-one, or leave third parties out with `harness --no-plugins`$"):
        build_stack("grpo", catalogue)
    assert build_stack("grpo@zoo-one(beta=2)", catalogue).canonical == "grpo@zoo-one(beta=2)"
    assert build_stack("grpo@Policy_Harness", catalogue).canonical == "grpo@policy-harness"
    assert catalogue.status(catalogue["grpo@zoo-one"]) == "clash"
    assert "choose with" in catalogue.reason(catalogue["grpo@zoo-one"])


def test_a_base_means_the_plugins_own_distribution_whatever_is_installed_beside_it(install):
    before = build_stack("dapo").spec()
    importable(install("zoo-one", "1.0", {"own": GRPO}, {"grpo": "own:GRPO"}))
    after = build_stack("dapo").spec()
    assert after == before
    assert after["plugins"][0]["distribution"] == "policy-harness"


def test_a_base_that_several_others_offer_says_whose_base_it_is(install):
    mine = ALONE.replace("class Parent", "class Mine").replace("@method(", '@method(base="grpo", ')
    importable(install("zoo-one", "1.0", {"own": GRPO}, {"grpo": "own:GRPO"}))
    importable(install("zoo-two", "1.0", {"own": mine}, {"zoo-mine": "own:Mine"}))
    with pytest.raises(UsageError, match=r"the base 'grpo' of 'zoo-mine' \(zoo-two 1.0\): method 'grpo' is offered by"):
        build_stack("zoo-mine")


def test_one_that_cannot_be_used_takes_part_in_the_clash_and_says_so(install):
    importable(install("zoo-one", "1.0", {"own": GRPO}, {"gtpo": "own:GRPO"}))
    install("zoo-two", "2.0", {}, {"gtpo": "gone:GTPO"})
    catalogue = discover()
    with pytest.raises(UsageError, match=r"'zoo-one 1.0' and 'zoo-two 2.0' \(which cannot be used\)"):
        catalogue.find("gtpo")
    assert catalogue.status(catalogue["gtpo@zoo-two"]) == "failed"


def test_one_class_under_two_names_is_fine(install):
    importable(install("zoo-one", "1.0", {"own": ALONE}, {"zoo-a": "own:Parent", "zoo-b": "own:Parent"}))
    importable(install("zoo-two", "1.0", {"own": "from zoo_one.own import Parent\n"}, {"zoo-c": "own:Parent"}))
    catalogue = discover()
    assert catalogue["zoo-a"].load() is catalogue["zoo-b"].load() is catalogue["zoo-c"].load()
    assert build_stack("zoo-a", catalogue).canonical == "zoo-a"


def test_one_name_twice_in_one_distribution_is_never_decided_by_order(install):
    package = install("zoo-one", "1.0", {"own": ALONE, "other": ALONE}, {"zoo-a": "own:Parent"})
    importable(package)
    records = next(package.parent.glob("*.dist-info")) / "entry_points.txt"
    records.write_text("[harness.methods]\nzoo-a = zoo_one.own:Parent\nzoo-a = zoo_one.own:Parent\n")
    assert build_stack("zoo-a").canonical == "zoo-a"
    records.write_text("[harness.methods]\nzoo-a = zoo_one.own:Parent\nZoo-A = zoo_one.other:Parent\n")
    with pytest.raises(
        PluginError, match=r"is named twice in the entry points of zoo-one: zoo_one.own:Parent and zoo_one.other:Parent"
    ):
        build_stack("zoo-a")


def test_two_files_with_one_slug_are_told_apart_by_their_names(tmp_path):
    for folder in ("left", "right"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my idea.py").write_text(ALONE)
    files = [tmp_path / folder / "my idea.py" for folder in ("left", "right")]
    catalogue = discover(files)
    with pytest.raises(
        UsageError, match=r"'my_idea' and 'right.my_idea'; choose with parent@my_idea or parent@right.my"
    ):
        build_stack("parent", catalogue)
    assert build_stack("parent@right.my_idea", catalogue).seats[0].entry.path == files[1]


def test_a_file_named_like_a_distribution_is_told_from_it(install, tmp_path):
    importable(install("zoo-one", "1.0", {"own": ALONE}, {"parent": "own:Parent"}))
    file = tmp_path / "zoo-one.py"
    file.write_text(ALONE)
    catalogue = discover([file])
    label = f"{tmp_path.name}.zoo-one"
    assert {entry.distribution for entry in catalogue.values() if entry.slug == "parent"} == {"zoo-one", label}
    assert build_stack(f"parent@{label}", catalogue).seats[0].entry.from_file


def test_two_classes_of_one_file_with_one_slug_are_refused(tmp_path):
    file = tmp_path / "ideas.py"
    file.write_text(ALONE + "\n\n@method(name='parent')\nclass Again(Parent):\n    pass\n")
    with pytest.raises(UsageError, match=r"Parent and Again are both called 'parent'; give one @method\(name=...\)"):
        discover([file])


def test_two_classes_of_one_file_with_one_python_name_are_refused(tmp_path):
    """Python would take the second without a word, and what was trained would not be what the first line says."""
    file = tmp_path / "ideas.py"
    for again in ("\n\n@method\nclass Parent:\n    pass\n", "\n\nclass Parent:\n    pass\n"):
        file.write_text(ALONE + again)
        lines = file.read_text().splitlines()
        places = " and ".join(str(number) for number, line in enumerate(lines, 1) if "class Parent" in line)
        (entry,) = (entry for entry in discover([file]).values() if entry.from_file)
        with pytest.raises(UnusablePlugin, match=f"has its class Parent twice, in lines {places} of its file"):
            entry.load()
    file.write_text("class Parent:\n    pass\n\n" + ALONE)  # a plain class first is nobody's method
    (entry,) = (entry for entry in discover([file]).values() if entry.from_file)
    assert entry.error is None
