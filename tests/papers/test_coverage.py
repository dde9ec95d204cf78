"""Every method has tests of its own, and every hook too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.hookspecs import HOOKS
from harness.host import discover

TESTS = Path(__file__).parents[1]
# Lists of methods that properties run over say nothing of one method.
LISTS = {"chain.py", "test_properties.py", "test_coverage.py", "test_hooks_used.py"}
OURS = {slug: entry for slug, entry in discover().items() if entry.module.startswith("harness_papers.")}
TEXTS = {path: path.read_text() for path in TESTS.rglob("*.py") if path.name not in LISTS}


@pytest.mark.parametrize("slug", sorted(OURS))
def test_a_method_has_tests_of_its_own(slug: str) -> None:
    *_, family, module = OURS[slug].module.split(".")
    own = TESTS / "papers" / family / f"test_{module}.py"
    named = re.compile(rf"[\"'+]{re.escape(slug)}[\"'(+]")
    papers = [path for path, text in TEXTS.items() if "papers" in path.parts and named.search(text)]
    assert own in TEXTS or papers, f"no test is about {slug}; write {own.relative_to(TESTS.parent)}"


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_has_a_test_of_its_own(hook: str) -> None:
    tests = (TESTS / "host" / "test_hooks.py").read_text()
    assert f"def test_{hook}(" in tests, f"tests/host/test_hooks.py has no test_{hook}"
