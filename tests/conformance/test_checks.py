"""Every check fails on a plugin that is broken in its way, and on no other; a good plugin passes them all."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from harness import hookimpl, method
from harness.conformance import CHECKS, EXEMPTIBLE, conformance_tests, run_checks, subjects
from harness.conformance.results import Finding, Report
from harness.errors import UsageError
from tests.conformance.plugins import BROKEN, ByPlace, CountsInHoles, Good, KeepsNaN, Quadratic


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def report(plugin, *only):
    (subject,) = subjects(plugin)
    return run_checks(subject, only)


def statuses(found):
    return {finding.check: finding.status for finding in found.findings}


def test_a_good_plugin_passes_everything():
    found = report(Good)
    assert set(statuses(found)) == set(CHECKS)
    assert set(statuses(found).values()) <= {"pass", "warn"}, found.render()
    assert {check for check, status in statuses(found).items() if status == "warn"} <= {"scale"}


@pytest.mark.parametrize(("plugin", "check"), BROKEN.items(), ids=lambda value: getattr(value, "__name__", value))
def test_a_broken_plugin_fails_its_check(plugin, check):
    (finding,) = report(plugin, check).findings
    assert finding.status == "FAIL", finding
    assert finding.reproduce == f"harness check {plugin.__qualname__} --only {check} --seed 0"


@pytest.mark.slow
@pytest.mark.parametrize(("plugin", "check"), BROKEN.items(), ids=lambda value: getattr(value, "__name__", value))
def test_a_broken_plugin_fails_no_other_check(plugin, check):
    found = report(plugin)
    also = ["state"] if check == "graph" and plugin.__name__ == "KeepsGraph" else []  # a graph cannot be saved either
    assert [finding.check for finding in found.failed] == [check, *also], found.render()


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        (CountsInHoles, "with other numbers at masked-out tokens in holes of the mask: advantages differs"),
        (KeepsNaN, "with NaN at masked-out tokens after completions (choose with torch.where"),
    ],
)
def test_garbage_where_the_mask_is_0_says_where_it_was(plugin, said):
    (finding,) = report(plugin, "edges").findings
    assert said in finding.text


def test_every_check_has_a_plugin_that_fails_it():
    assert {*BROKEN.values(), "scale"} == set(CHECKS)


def test_a_quadratic_method_is_warned_about():
    (finding,) = report(Quadratic, "scale").findings
    assert finding.status == "warn"
    assert "for 4 times the rows" in finding.text


def exempted(plugin, **exempt):
    return method(exempt=exempt)(type(plugin.__name__, (plugin,), {"__doc__": plugin.__doc__}))


def test_a_declared_exemption_is_shown_and_one_that_is_not_needed_is_told():
    (finding,) = report(exempted(ByPlace, permutation="rows are a stream"), "permutation").findings
    assert finding.status == "n.a."
    assert "exempt, as declared: rows are a stream" in finding.text
    (finding,) = report(exempted(Good, permutation="rows are a stream"), "permutation").findings
    assert finding.status == "warn"
    assert "take the exemption away" in finding.text
    assert set(EXEMPTIBLE) <= set(CHECKS)


def test_seeds_give_other_probes_with_the_same_verdict():
    for seed in (0, 3):
        (subject,) = subjects(Good, seed=seed)
        found = run_checks(subject, ["permutation", "padding", "edges"])
        assert not found.failed, found.render()


def test_tests_of_an_author_are_named_by_check_and_fail_with_a_command():
    test = conformance_tests(ByPlace, only=["permutation", "padding"])
    (mark,) = test.pytestmark
    assert [case.id for case in mark.args[1]] == ["permutation", "padding"]
    (subject, _), _ = (case.values for case in mark.args[1])
    test(subject, "padding")
    with pytest.raises(pytest.fail.Exception, match=r"again: harness check ByPlace --only permutation --seed 0"):
        test(subject, "permutation")


def test_what_is_neither_method_nor_file_nor_distribution_is_refused():
    with pytest.raises(UsageError, match="is no method, file or distribution"):
        subjects("no-such-thing-at-all")
    with pytest.raises(UsageError, match="not decorated"):
        subjects(dict)
    with pytest.raises(UsageError, match=r"no check 'permutations'\. Did you mean 'permutation'"):
        report(Good, "permutations")


def test_a_folder_is_no_target_but_a_file_in_it_is(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match=r"is a folder; name a \.py file$"):
        subjects(tmp_path)
    (tmp_path / "my_idea.py").write_text("")
    (tmp_path / "grpo").mkdir()
    (tmp_path / "ideas").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"^'\.' is a folder; name a \.py file, such as my_idea\.py$"):
        subjects(".")
    with pytest.raises(UsageError, match=r"^'ideas' is a folder; name a \.py file$"):
        subjects("ideas")
    (subject,) = subjects("grpo")  # whatever lies around, a method's name means the method
    assert subject.name == "grpo"


def test_a_stack_is_checked_by_its_last_plugin():
    (subject,) = subjects("conformance-z-score+conformance-halve")
    assert subject.below == "conformance-z-score"
    assert statuses(run_checks(subject, ["effect", "permutation"])) == {"effect": "pass", "permutation": "pass"}


@method(exempt={"precision": "it never comes to that"})
class Nothing:
    """Forgets to return what it has computed at length."""

    @hookimpl
    def estimate_advantages(self, batch):
        """No return."""
        batch.groups.center(batch.reward)


@method
class Tiny:
    """x."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self):
        """Twice."""
        return 2 * (yield)


def test_what_keeps_a_method_from_running_is_one_failure():
    found = report(Nothing)
    assert [finding.check for finding in found.failed] == ["effect"]
    (fault,) = found.failed
    assert "returned None where a value is due" in fault.text
    assert "harness check" not in fault.text
    others = [finding for finding in found.findings if finding.check not in {"metadata", "effect"}]
    assert len(others) == len(CHECKS) - 2
    assert {(finding.status, finding.text, finding.reproduce) for finding in others} == {
        ("n.a.", "not run: see effect", "")
    }
    assert [finding.status for finding in report(Nothing, "precision").findings] == ["FAIL"]


def test_a_stack_that_cannot_be_built_is_one_failure(tmp_path):
    path = tmp_path / "gone.py"
    path.write_text("import nowhere_to_be_found\n\nfrom harness import method\n\n\n@method\nclass Gone:\n    pass\n")
    found = report(path)
    again = f"harness explain gone --plugin {path}"
    assert [(finding.check, finding.reproduce) for finding in found.failed] == [("metadata", again)]
    assert "nowhere_to_be_found" in found.failed[0].text
    assert {finding.text for finding in found.findings[1:]} == {"not run: see metadata"}


def test_tests_of_an_author_tell_once_what_keeps_a_method_from_running():
    test = conformance_tests(Nothing, only=["permutation", "padding"])
    (subject, _), _ = (case.values for case in test.pytestmark[0].args[1])
    with pytest.raises(pytest.fail.Exception, match="returned None"):
        test(subject, "padding")  # whichever comes first
    with pytest.raises(pytest.skip.Exception, match="not run: see padding"):
        test(subject, "permutation")


@method(needs={"entropy"})
class MagnifiesRounding:
    """Shares of the entropy of what is right, standardised with an eps of the size of their rounding."""

    @hookimpl
    def estimate_advantages(self, batch):
        """Of a lone right one the share is always 1, up to eps: nothing to standardise."""
        right = batch.correct.to(batch.reward.dtype)
        entropy = batch.sequence_mean(batch.entropy) * right
        share = entropy / (batch.groups.sum(entropy) + 1e-8)
        held = share[batch.correct]
        return right * (share - held.mean()) / (held.std() + 1e-8)


def test_rounding_of_lone_right_ones_is_no_advantage():
    (finding,) = report(MagnifiesRounding, "precision").findings
    assert finding.status == "FAIL"
    assert "with a lone right one in every group" in finding.text


@method
class Raw:
    """The reward itself is the advantage, whatever the group.

    {edges}
    """

    @hookimpl
    def estimate_advantages(self, batch):
        """No baseline."""
        return batch.reward


@pytest.mark.parametrize(
    ("edges", "status", "said"),
    [
        ("", "warn", "not 0 in a group of equals and a group of one"),
        ("Edge cases: equal rewards keep their reward.", "warn", "not 0 in a group of one"),
        ("Edge cases: equal rewards and groups of one keep their reward.", "pass", "finite"),
    ],
)
def test_a_gradient_where_nothing_is_compared_wants_a_word(edges, status, said):
    plugin = method(type("Raw", (Raw,), {"__doc__": Raw.__doc__.format(edges=edges)}))
    (finding,) = report(plugin, "edges").findings
    assert finding.status == status
    assert said in finding.text


def test_a_short_docstring_is_told_to_be_short():
    (finding,) = report(Tiny, "metadata").findings
    assert finding.text.startswith("Tiny: the docstring's first line 'x.' of 2 characters is too short")


def test_a_fault_that_fails_many_checks_is_told_once():
    fault = "plugin 'x' (dist 1), hook start, at x.py:3: KeyError: 'lost'"
    found = Report("x", tuple(Finding(check, "FAIL", fault, f"again {check}") for check in ("effect", "padding")))
    text = found.render()
    assert text.count(fault) == 1
    assert text.splitlines()[-1].split() == ["padding", "FAIL", "as", "effect"]


def test_a_report_is_a_table_and_plain_data():
    found = report(ByPlace, "permutation", "padding")
    text = found.render()
    assert "permutation  FAIL" in text
    assert "again: harness check ByPlace --only permutation --seed 0" in text
    assert found.line().startswith("FAIL  by-place  (1 pass, 1 FAIL: permutation;")
    data = found.data()
    assert data["passed"] is False
    assert [finding["status"] for finding in data["findings"]] == ["FAIL", "pass"]
    assert set(data["findings"][0]) == {field.name for field in dataclasses.fields(found.findings[0])}


def test_a_file_that_cannot_be_built_says_how_to_see_it_again(tmp_path):
    file = tmp_path / "my_idea.py"
    file.write_text("from harness import method\n\n\n@method(netural={})\nclass MyIdea:\n    pass\n")
    (subject,) = subjects(file)
    (finding,) = run_checks(subject, ("metadata",)).findings
    assert finding.status == "FAIL"
    assert "@method has no argument 'netural'. Did you mean 'neutral'?" in finding.text
    assert finding.reproduce == f"harness explain my-idea --plugin {file}"
