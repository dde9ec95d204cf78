"""`harness check METHOD --vectors FILE`: which cases are about a method, and what is said of each kind."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.conformance import offered, subjects
from harness.conformance.against_vectors import compare_with
from harness.conformance.vectors import read_cases

GOLDEN = Path(__file__).parents[1] / "vectors" / "golden.jsonl.gz"


@functools.cache
def records():
    return [vars(case) for case in read_cases(GOLDEN)]


def finding(target, path=GOLDEN, plugins=()):
    [subject] = subjects(target, plugins=plugins)
    return compare_with(subject, path)


@pytest.fixture
def written(tmp_path):
    def write(cases):
        path = tmp_path / "cases.jsonl"
        path.write_text("".join(json.dumps(case) + "\n" for case in cases))
        return path

    return write


@pytest.mark.parametrize(("method", "cases"), [("gdpo", 32), ("mc-grpo", 6)])
def test_the_numbers_of_public_implementations_are_compared(method, cases):
    found = finding(method)
    assert (found.status, found.text) == ("pass", f"{cases} cases as expected")


@pytest.mark.parametrize(("method", "slug"), [("grpo", "grpo_batch_std"), ("cispo", "tis_pg")])
def test_cases_of_another_slug_count_where_the_stack_holds_the_method(method, slug, written):
    own = sum(record["method"] == method for record in records())
    found = finding(method)
    assert found.status == "pass"
    assert int(found.text.split()[0]) > own
    other = [record for record in records() if record["method"] == slug]
    assert finding(method, written(other)).text == f"{len(other)} cases as expected"
    assert finding("gdpo", written(other)).text.endswith("has no case of gdpo")


def test_a_wrong_number_fails_and_is_shown(written):
    cases = [dict(record) for record in records() if record["method"] == "gdpo"]
    wrong = [value + 0.25 for value in cases[7]["expected"]["advantages"]]
    cases[7] = {**cases[7], "id": "planted", "expected": {"advantages": wrong}}
    found = finding("gdpo", written(cases))
    assert found.status == "FAIL"
    assert found.text.startswith("1 of 32 cases differ: planted: advantages")
    assert "max difference 0.25" in found.text
    assert found.reproduce.startswith("harness check gdpo --vectors ")


def test_slips_are_told_with_their_reason():
    found = finding("p-norm")
    assert found.status == "pass"
    assert (
        "3 slips of an implementation, not imitated: every row is divided by the size of the first group" in found.text
    )


def test_what_no_mapping_knows_is_a_warning_or_not_applicable(written):
    known, strange = [dict(record) for record in records() if record["method"] == "gdpo"][:2]
    strange["params"] = {**strange["params"], "warp": 2}
    found = finding("gdpo", written([known, strange]))
    assert found.status == "warn"
    assert "1 cases as expected; 1 not mapped: the mapping of gdpo does not know the param warp (1)" in found.text
    found = finding("gdpo", written([strange]))
    assert (found.status, found.text.split(";")[0]) == ("n.a.", "none of its 1 cases can be compared")
    assert finding("gdpo", written([])).text.endswith("has no case of gdpo")


def test_a_mapping_that_raises_maps_nothing(written):
    case = next(dict(record) for record in records() if record["method"] == "gdpo")
    case["inputs"] = {"rewards": "none"}
    found = finding("gdpo", written([case]))
    assert found.status == "n.a."
    assert "the mapping of gdpo fails: IndexError" in found.text


# -- mappings of others ----------------------------------------------------------------------------------------------

METHOD = '''
from harness import hookimpl, method


@method(name="{name}")
class Mine:
    """Rewards less the mean of the group, times a factor.

    factor: of the advantage.
    """

    factor: float = 1.0

    @hookimpl
    def estimate_advantages(self, batch):
        """Centred."""
        return self.factor * (batch.reward - batch.groups.mean(batch.reward))
'''
MAPPING = """
from harness.conformance.mapping import maps, Run, stack


@maps("{slug}")
def mapped(case):
    return Run(stack("{name}", factor=case.params["scaled_by"]))
"""


def centred(slug, **params):
    inputs = {"rewards": [[1.0], [0.0], [0.0], [1.0]], "group": [0, 0, 1, 1]}
    expected = {"advantages": [1.0, -1.0, -1.0, 1.0]}
    return {"id": "x", "method": slug, "kind": "advantage", "params": params, "inputs": inputs, "expected": expected}


def test_a_plugin_file_may_hold_a_mapping(tmp_path, written):
    file = tmp_path / "mine.py"
    file.write_text(METHOD.format(name="mine-of-file") + MAPPING.format(slug="their_slug", name="mine-of-file"))
    path = written([centred("their_slug", scaled_by=2.0), centred("mine_of_file", factor=2.0)])
    assert finding(file, path).text == "2 cases as expected"
    assert finding(file, written([centred("their_slug", scaled_by=3.0)])).status == "FAIL"


def test_a_method_under_a_known_name_is_compared_itself_or_not_at_all(tmp_path, written):
    file = tmp_path / "other.py"
    file.write_text(METHOD.format(name="gdpo"))
    assert finding(file, written([centred("gdpo", factor=2.0)])).text == "1 cases as expected"
    assert finding(file, written([centred("gdpo", factor=1.0)])).status == "FAIL"
    found = finding(file)
    assert found.status == "n.a."
    assert "32 not mapped: method 'gdpo' has no parameter 'batch_eps'" in found.text


@pytest.mark.parametrize(("name", "status", "text"), [
    ("opo", "FAIL", "6 of 6 cases differ"),  # its field is there: the mapping's stack is built with the file's method
    ("edge-grpo", "n.a.", "6 not mapped: the mapping of edge_grpo does not ask the edge-grpo that is checked"),
])  # fmt: skip
def test_the_method_of_a_file_is_asked_and_not_its_namesake(name, status, text, tmp_path):
    file = tmp_path / "namesake.py"
    file.write_text(
        METHOD.format(name=name).replace("factor: float = 1.0", 'factor: float = 9.0\n    single: str = "raw"')
    )
    found = finding(file)
    assert found.status == status
    assert text in found.text


def test_distributions_offer_mappings_and_a_broken_module_stops_nobody(tmp_path, written):
    package = tmp_path / "zoo_vectors"
    (tmp_path / "zoo-1.0.dist-info").mkdir()
    (tmp_path / "zoo-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: zoo\nVersion: 1.0\n")
    (tmp_path / "zoo-1.0.dist-info" / "entry_points.txt").write_text(f"[{offered.GROUP}]\nzoo = zoo_vectors\n")
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "aaa.py").write_text("import no_such_module_anywhere\n")
    (package / "good.py").write_text(MAPPING.format(slug="zoo_slug", name="conformance-halve").replace("factor=", "x="))
    (package / "taken.py").write_text(MAPPING.format(slug="gdpo", name="grpo"))
    script = (
        "import json\nfrom harness.conformance.mapping import broken, mappers\n"
        "print(json.dumps([broken(), mappers()['gdpo'].__module__, sorted(mappers())]))"
    )

    def run(**more):
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), **more}
        ran = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        return json.loads(ran.stdout)

    faults, of_gdpo, slugs = run()
    assert sorted(faults) == ["zoo_vectors.aaa", "zoo_vectors.taken"]
    assert "no_such_module_anywhere" in faults["zoo_vectors.aaa"]
    assert "is mapped in harness_papers" in faults["zoo_vectors.taken"]
    assert of_gdpo == "harness_papers.vectors.multi_reward"
    assert {"zoo_slug", "grpo"} <= set(slugs)
    faults, _, slugs = run(HARNESS_PLUGIN_AUTOLOAD="0")
    assert not faults
    assert "zoo_slug" not in slugs
    assert "grpo" in slugs
