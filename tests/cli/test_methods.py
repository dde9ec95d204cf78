"""`harness methods` and `harness explain`."""

import json
import subprocess
import sys

import pytest

from harness.cli import main

SOURCE = '''
from harness import hookimpl, method


@method(paper="2601.00001", needs={"entropy"})
class MyIdea:
    """The idea in a sentence."""

    beta: float = 0.5

    @hookimpl
    def estimate_advantages(self, batch):
        return self.beta * batch.reward

    @hookimpl(wrapper=True)
    def policy_loss(self):
        return (yield)
'''


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my_ideas.py"
    path.write_text(SOURCE)
    return str(path)


def harness(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    shown = capsys.readouterr()
    return stop.value.code, shown.out, shown.err


def test_methods_lists_names_papers_and_ideas(capsys, file):
    code, out, _ = harness(capsys, "methods", "--plugin", file)
    assert code == 0
    (line,) = [line for line in out.splitlines() if line.startswith("my-idea")]
    assert line.split() == ["my-idea", "2601.00001", *"The idea in a sentence. (from my_ideas)".split()]


def test_methods_json_is_a_list_of_everything(capsys, file):
    code, out, _ = harness(capsys, "methods", "--plugin", file, "--json")
    (entry,) = [entry for entry in json.loads(out) if entry["name"] == "my-idea"]
    assert code == 0
    assert entry["parameters"] == {"beta": {"type": "float", "default": "0.5"}}
    assert entry["hooks"] == {"estimate_advantages": "plain", "policy_loss": "wrapper"}
    assert entry["file"] == file


def test_one_method_shows_everything_about_it(capsys, file):
    code, out, _ = harness(capsys, "methods", "my-idea", "--plugin", file)
    assert code == 0
    for text in (
        "2601.00001",
        "beta: float = 0.5",
        "policy_loss (wraps)",
        f"{file}:MyIdea",
        "{'entropy'}",
        "the defaults",
    ):
        assert text in out


def test_one_method_as_json(capsys, file):
    _, out, _ = harness(capsys, "methods", "my-idea", "--plugin", file, "--json")
    assert json.loads(out)["paper"] == "2601.00001"


def test_an_unknown_method_is_one_line_with_the_nearest_name(capsys, file):
    code, out, err = harness(capsys, "methods", "my-idae", "--plugin", file)
    assert (code, out) == (2, "")
    assert err.strip().count("\n") == 0
    assert "unknown method 'my-idae'. Did you mean 'my-idea'?" in err


def test_load_says_which_methods_cannot_be_imported(capsys, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text(SOURCE + "\nraise RuntimeError('no luck')\n")
    code, _, err = harness(capsys, "methods", "--load", "--plugin", str(broken))
    assert code == 1
    assert "RuntimeError: no luck" in err


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


def test_listing_methods_imports_neither_torch_nor_mlflow():
    code = (
        "import sys\nfrom harness.cli import main\n"
        "try:\n    main(['methods'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'mlflow', 'transformers'} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
