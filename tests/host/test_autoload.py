"""Leaving third-party plugins out: all of them, or all but some. The harness's own stay."""

import pytest

from harness import UsageError
from harness.host import build_stack, discover
from harness.host.autoload import Autoload
from harness.tasks.load import load_task, task_names
from tests.host.sources import ALONE, importable


@pytest.fixture
def two(install):
    """Two third-party distributions."""
    for name in ("zoo-one", "zoo-two"):
        importable(install(name, "1.0", {"own": ALONE}, {f"{name}-idea": "own:Parent"}))


@pytest.mark.usefixtures("two")
def test_autoload_off_leaves_out_third_parties_only(monkeypatch):
    monkeypatch.setenv("HARNESS_PLUGIN_AUTOLOAD", "0")
    catalogue = discover()
    entry = catalogue["zoo-one-idea"]
    assert (catalogue.status(entry), entry.path, dict(entry.hooks)) == ("disabled", None, {})
    assert catalogue.status(catalogue["placebo"]) == "ok"
    with pytest.raises(
        UsageError,
        match=r"'zoo-one-idea' of zoo-one 1.0 is disabled: .*HARNESS_PLUGIN_AUTOLOAD=0 or --no-plugins.*"
        r"HARNESS_PLUGINS=zoo-one",
    ):
        build_stack("zoo-one-idea", catalogue)


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("autoload", [None, "0"])
def test_an_allow_list_lets_in_the_named_distributions_only(monkeypatch, autoload):
    if autoload:
        monkeypatch.setenv("HARNESS_PLUGIN_AUTOLOAD", autoload)
    monkeypatch.setenv("HARNESS_PLUGINS", " Zoo_One ,")
    catalogue = discover()
    assert build_stack("zoo-one-idea", catalogue).canonical == "zoo-one-idea"
    with pytest.raises(UsageError, match=r"HARNESS_PLUGINS does not list it; .*HARNESS_PLUGINS=Zoo_One,zoo-two"):
        build_stack("zoo-two-idea@zoo-two", catalogue)


@pytest.mark.usefixtures("two")
def test_an_empty_allow_list_lets_nobody_in(monkeypatch):
    monkeypatch.setenv("HARNESS_PLUGINS", "")
    assert discover()["zoo-one-idea"].disabled


@pytest.mark.usefixtures("two")
def test_a_misspelt_distribution_in_the_allow_list_is_an_error(monkeypatch):
    monkeypatch.setenv("HARNESS_PLUGINS", "zoo-oen")
    with pytest.raises(
        UsageError, match=r"HARNESS_PLUGINS lists 'zoo-oen', which offers no plugins. Did you mean 'zoo-one'"
    ):
        discover()


def test_a_switch_that_is_neither_on_nor_off_is_an_error():
    with pytest.raises(UsageError, match="HARNESS_PLUGIN_AUTOLOAD=maybe: write 0"):
        Autoload.read({"HARNESS_PLUGIN_AUTOLOAD": "maybe"})
    assert Autoload.read({"HARNESS_PLUGIN_AUTOLOAD": "1"}) == Autoload.read({}) == Autoload()


def test_what_is_disabled_clashes_with_nothing(install, monkeypatch):
    importable(install("zoo-one", "1.0", {"own": ALONE}, {"grpo": "own:Parent"}))
    monkeypatch.setenv("HARNESS_PLUGIN_AUTOLOAD", "0")
    catalogue = discover()
    assert build_stack("grpo", catalogue).canonical == "grpo"
    assert catalogue["grpo"].distribution == "policy-harness"
    assert catalogue["grpo@zoo-one"].disabled


def test_tasks_of_third_parties_are_left_out_too(install, monkeypatch):
    package = install("zoo-one", "1.0", {"own": ALONE}, {})
    importable(package)
    records = next(package.parent.glob("*.dist-info")) / "entry_points.txt"
    records.write_text("[harness.tasks]\nzoo-task = zoo_one.own:Task\n")
    assert "zoo-task" in task_names()
    monkeypatch.setenv("HARNESS_PLUGIN_AUTOLOAD", "0")
    assert "zoo-task" not in task_names()
    with pytest.raises(UsageError, match=r"task 'zoo-task' of zoo-one is disabled: third-party plugins are off"):
        load_task("zoo-task")
