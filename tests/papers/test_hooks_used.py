"""Every hook has a real user among the first-party methods, and every method says what it is."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import harness_papers
import pytest

from harness.hookspecs import HOOKS
from harness.host import discover
from harness.host.markers import MARK

CATALOGUE = discover()
OURS = {slug: entry for slug, entry in CATALOGUE.items() if entry.module.startswith("harness_papers.")}


@pytest.mark.parametrize("hook", HOOKS)
def test_a_method_needs_the_hook(hook):
    users = [slug for slug, entry in OURS.items() if hook in entry.hooks and slug != "placebo"]
    assert users, f"no method but placebo implements {hook}"


def test_the_listing_reads_what_the_classes_are():
    for slug, entry in OURS.items():
        cls = entry.load()
        marked = {hook for hook in HOOKS if getattr(inspect.getattr_static(cls, hook, None), MARK, None)}
        assert set(entry.hooks) == marked, slug


def test_placebo_wraps_every_hook_and_changes_none():
    cls = OURS["placebo"].load()
    assert cls.info.hooks == dict.fromkeys(HOOKS, "wrapper")
    tree = ast.parse(Path(inspect.getsourcefile(cls)).read_text())
    bodies = {
        ast.unparse(node.body[-1])
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name in HOOKS
    }
    assert bodies == {"return (yield)"}


@pytest.mark.parametrize("slug", sorted(OURS))
def test_a_method_says_what_it_is(slug):
    info = OURS[slug].load().info
    assert info.slug == slug
    if slug != "placebo" and OURS[slug].module.split(".")[1] != "control":
        assert info.paper or "Source:" in info.doc, "which paper, or where from if there is none?"
        assert "Confidence:" in info.doc
        assert "Edge cases:" in info.doc or "Source:" in info.doc


def test_every_method_module_has_an_entry_point():
    """A class with @method that pyproject.toml does not name would never be found."""
    root = Path(harness_papers.__file__).parent
    named = {entry.module for entry in OURS.values()}
    for file in sorted(root.rglob("*.py")):
        module = ".".join(["harness_papers", *file.relative_to(root).with_suffix("").parts])
        if "@method" in file.read_text():
            assert module in named, f"{module} has no line under harness.methods in pyproject.toml"
            importlib.import_module(module)


def test_every_method_has_a_test_of_its_own():
    """Some test says its name, or imports its module; what all methods must hold is not enough."""
    said = "\n".join(file.read_text() for file in Path(__file__).parents[1].rglob("*.py"))
    words = set(re.findall(r"[\w.-]+", said))
    untested = [slug for slug, entry in OURS.items() if slug not in words and entry.module not in words]
    assert not untested
