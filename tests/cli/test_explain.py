"""`harness explain`, and what is said of plugin files that cannot be used."""

import json
import subprocess
import sys

import pytest

from tests.cli.test_methods import SOURCE, file, harness

__all__ = ["file"]


def test_explain_shows_the_chains(capsys, file):
    code, out, _ = harness(capsys, "explain", "my-idea(beta=2)", "--plugin", file)
    assert code == 0
    assert "estimate_advantages  my-idea" in out
    assert "policy_loss          my-idea(defaults)" in out
    assert "needs   entropy" in out
    code, out, _ = harness(capsys, "explain", "my-idea(beta=2)", "--plugin", file, "--json")
    assert json.loads(out)["canonical"] == "my-idea(beta=2)"


def test_explain_of_a_bad_stack_is_one_line(capsys, file):
    code, _, err = harness(capsys, "explain", "my-idea(bta=2)", "--plugin", file)
    assert code == 2
    assert "has no parameter 'bta'. Did you mean 'beta'?" in err


def test_explain_judges_what_is_inert_by_a_suites_settings(capsys, file, tmp_path):
    suite = tmp_path / "small.yaml"
    text = f"name: small\nbudget: {{updates: 2}}\nmethods: [my-idea]\nplugins: [{file}]\n"
    suite.write_text(text + "learner: {minibatches: 4}\n")
    ratio = "with one update a batch every ratio is 1"
    code, out, _ = harness(capsys, "explain", "dapo")
    assert code == 0
    assert "with one update a batch, on-policy" in out
    assert ratio in out
    out = harness(capsys, "explain", "dapo", "--suite", str(suite))[1]
    assert "with several updates a batch" in out
    assert ratio not in out
    suite.write_text(text + "sampler: {lag: 2}\n")
    code, out, _ = harness(capsys, "explain", "my-idea", "--suite", str(suite), "--json")  # the suite's own file
    data = json.loads(out)
    assert data["assumed"] == "one update a batch, sampled by older weights"
    assert {"inert"} == {remark["kind"] for remark in data["remarks"] if remark["hook"] == "policy_loss"}


def test_explain_without_a_measured_hook_needs_no_torch(tmp_path):
    file = tmp_path / "light.py"
    file.write_text(
        "from harness import hookimpl, method\n\n\n@method\nclass Light:\n"
        "    @hookimpl\n    def select_prompts(self, pool, count):\n        return pool.keys[:count]\n"
    )
    code = (
        "import sys\nfrom harness.cli import main\n"
        f"try:\n    main(['explain', 'light', '--plugin', {str(file)!r}])\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (SOURCE.replace("def estimate_advantages", "def estimate_advantage"), "Did you mean 'estimate_advantages'"),
        ("import nowhere_xyz\n" + SOURCE, "nowhere_xyz"),
        ("def broken(:\n", "is not valid Python"),
        ("x = 1\n", "has no class decorated with @method"),
        (SOURCE.replace("beta: float = 0.5", "beta: float"), "needs a default"),
    ],
)
@pytest.mark.parametrize("command", [["explain", "my-idea"], ["run", "tiny", "--dry-run", "--methods", "my-idea"]])
def test_every_fault_of_a_plugin_file_is_usage(capsys, tmp_path, command, source, message):
    file = tmp_path / "ideas.py"
    file.write_text(source)
    code, _, err = harness(capsys, *command, "--plugin", str(file))
    assert code == 2
    assert message in err
    assert "ideas" in err
    assert err.count("\n") == 1


STARTS = """
from harness import hookimpl, method


@method
class Sets:
    \"\"\"Remembers what it has seen, and samples nothing for it.\"\"\"

    @hookimpl
    def start(self, run):
        self.rate, self.size = 1.0, run.group_size


@method
class Samples:
    \"\"\"Looks at some completions before it begins.\"\"\"

    @hookimpl
    def start(self, run):
        self.rate = float(run.rollout(run.pool.keys[:4]).correct.mean())
"""


def test_explain_charges_a_start_that_samples_and_no_other(capsys, tmp_path):
    path = tmp_path / "starts.py"
    path.write_text(STARTS)
    code, out, _ = harness(capsys, "explain", "sets", "--plugin", str(path))
    assert code == 0
    assert "before step 0" not in out
    code, out, _ = harness(capsys, "explain", "sets+samples", "--plugin", str(path))
    assert "what it samples or evaluates before step 0   (samples)" in out


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ("", ""),
        ("{'entropy'}", "entropy"),
        ("{'reference', 'hidden'}", "hidden, reference"),
        ("lambda m: {'reference'} if m.beta else set()", "reference, if beta"),
        ("lambda m: {'greedy', 'reference'} if m.beta else {'greedy'}", "greedy; reference, if beta"),
        ("lambda m: {'reference'} if m.anchor == 'reference' else set()", "reference, if anchor == 'reference'"),
        ("lambda m: {'hidden'} | ({'entropy'} if m.guided else set())", "hidden; entropy, if guided"),
        ("chosen", "chosen"),
    ],
)
def test_needs_are_told_in_words(stated, words):
    from harness.host.needs_words import needs_in_words

    assert needs_in_words(stated) == words
