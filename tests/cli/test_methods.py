"""`harness methods`."""

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
    assert line.split() == ["my-idea", "2601.00001", *["The", "idea", "in", "a", "sentence.", "(from", "my_ideas)"]]


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
        "needs       entropy",
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


def test_listing_methods_imports_neither_torch_nor_mlflow():
    code = (
        "import sys\nfrom harness.cli import main\n"
        "try:\n    main(['methods'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'mlflow', 'transformers'} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


# -- status, hooks, providers -----------------------------------------------------------------------------------------


@pytest.fixture
def zoo(tmp_path, monkeypatch):
    """A third-party distribution: a method, one that clashes with the harness's own, one that cannot be imported."""
    site = tmp_path / "site"
    (site / "zoo_one").mkdir(parents=True)
    (site / "zoo_one" / "__init__.py").write_text("")
    (site / "zoo_one" / "ideas.py").write_text(SOURCE)
    (site / "zoo_one" / "lost.py").write_text("import nowhere_xyz\n" + SOURCE)
    records = site / "zoo_one-1.2.dist-info"
    records.mkdir()
    (records / "METADATA").write_text("Metadata-Version: 2.1\nName: zoo-one\nVersion: 1.2\n")
    points = {"zoo-idea": "ideas", "grpo": "ideas", "zoo-lost": "lost"}
    lines = [f"{name} = zoo_one.{module}:MyIdea" for name, module in points.items()]
    (records / "entry_points.txt").write_text("[harness.methods]\n" + "\n".join(lines) + "\n")
    for name in [name for name in sys.modules if name.startswith("zoo_")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("HARNESS_PLUGIN_AUTOLOAD", "1")  # so that what a command sets is undone
    return site


def listed(capsys, *arguments):
    code, out, err = harness(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return {entry["name"]: entry for entry in json.loads(out)}


def test_json_says_whose_a_method_is_and_whether_it_can_be_used(capsys, zoo):
    found = listed(capsys, "methods")
    idea = found["zoo-idea"]
    assert set(idea) == {
        "name", "distribution", "version", "file", "class", "status", "reason", "paper", "base", "experimental",
        "host_api", "needs", "search", "parameters", "hooks", "doc",
    }  # fmt: skip
    assert (idea["distribution"], idea["version"], idea["class"]) == ("zoo-one", "1.2", "zoo_one.ideas:MyIdea")
    assert (idea["file"], idea["status"], idea["reason"]) == (str(zoo / "zoo_one" / "ideas.py"), "ok", None)
    assert found["zoo-lost"]["status"] == "failed"
    assert "nowhere_xyz" in found["zoo-lost"]["reason"]
    for key in ("grpo@zoo-one", "grpo@policy-harness"):
        assert found[key]["status"] == "clash"
        assert "choose with grpo@policy-harness or grpo@zoo-one" in found[key]["reason"]
    assert "grpo" not in found
    assert found["placebo"]["status"] == "ok"


def test_no_plugins_leaves_third_parties_out_wherever_it_stands(capsys, zoo, monkeypatch):
    monkeypatch.setenv("HARNESS_PLUGINS", "zoo-one")
    found = listed(capsys, "methods", "--no-plugins")
    assert found["zoo-idea"]["status"] == "disabled"
    assert found["grpo"]["distribution"] == "policy-harness"
    code, _, err = harness(capsys, "--no-plugins", "explain", "zoo-idea")
    assert code == 2
    assert "method 'zoo-idea' of zoo-one 1.2 is disabled" in err
    text = harness(capsys, "methods", "--no-plugins")[1]
    assert "zoo-idea" in text
    assert "disabled: third-party plugins are off" in text


def test_the_listing_names_providers_that_are_not_the_harness(capsys, zoo):
    text = harness(capsys, "methods")[1]
    lines = {line.split()[0]: line for line in text.splitlines()}
    assert lines["zoo-idea"].endswith("The idea in a sentence. (from zoo-one 1.2)")
    assert "cannot be used: needs the module 'nowhere_xyz'" in lines["zoo-lost"]
    assert "clash: method 'grpo' is offered by" in lines["grpo@zoo-one"]
    assert "from" not in lines["placebo"].rpartition("(")[2]


def test_hook_lists_the_methods_that_implement_it(capsys, file):
    found = listed(capsys, "methods", "--hook", "estimate_advantages", "--plugin", file)
    assert "my-idea" in found
    assert all("estimate_advantages" in entry["hooks"] for entry in found.values())
    assert "my-idea" not in listed(capsys, "methods", "--hook", "keep", "--plugin", file)
    code, _, err = harness(capsys, "methods", "--hook", "estimate_advantage")
    assert code == 2
    assert "Did you mean 'estimate_advantages'" in err


def test_load_lists_and_says_in_json_what_cannot_be_imported(capsys, zoo):
    code, out, err = harness(capsys, "methods", "--load", "--json")
    found = {entry["name"]: entry for entry in json.loads(out)}
    assert code == 1
    assert found["zoo-lost"]["status"] == "failed"
    assert "No module named 'nowhere_xyz'" in found["zoo-lost"]["reason"]
    assert "zoo-lost" in err
