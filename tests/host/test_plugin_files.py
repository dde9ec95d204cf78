"""Plugin files: every `@method` class of a file, executed on use."""

import sys

import pytest

from harness import PluginError, UsageError
from harness.host import build_stack, discover
from tests.host.sources import ALONE, PARENT


def test_a_file_gives_every_method_in_it(tmp_path):
    file = tmp_path / "my_ideas.py"
    file.write_text(
        ALONE + "\n\n@method(name='other-name')\nclass Second(Parent):\n    '''Two.'''\n\n\nclass Helper:\n    pass\n"
    )
    catalogue = discover([file])
    assert catalogue["parent"].origin == "my_ideas"
    assert catalogue["other-name"].hooks == catalogue["parent"].hooks
    assert "helper" not in catalogue
    stack = build_stack("other-name(beta=0)", catalogue)
    assert stack.canonical == "other-name(beta=0)"
    assert stack.plugins[0][1].modes == ("a", "b")
    again = build_stack("parent", discover([file, str(file)]))
    assert type(stack.plugins[0][1]).__mro__[1] is type(again.plugins[0][1])


def test_a_changed_file_is_executed_anew(tmp_path):
    file = tmp_path / "my_ideas.py"
    source = ALONE
    file.write_text(source)
    before = build_stack("parent", discover([file]))
    file.write_text(source.replace("-1e-3", "0.25"))
    after = build_stack("parent", discover([file]))
    assert (before.plugins[0][1].beta, after.plugins[0][1].beta) == (-1e-3, 0.25)
    assert before.spec()["plugins"][0]["digest"] != after.spec()["plugins"][0]["digest"]


def test_a_file_that_offers_an_installed_name_is_a_clash(install, tmp_path):
    install("zoo-one", "1", {"parent": PARENT}, {"parent": "parent:Parent"})
    file = tmp_path / "my_copy.py"
    file.write_text(PARENT)
    with pytest.raises(UsageError, match=r"offered by 'my_copy' and 'zoo-one 1'; choose with parent@my_copy"):
        discover([file]).find("parent")


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("gone.py", None, "does not exist"),
        ("notes.txt", "x = 1\n", "is no .py file"),
        ("", None, "is no .py file"),
        ("empty.py", "x = 1\n", "has no class decorated with @method"),
        ("broken.py", "x = 1\ndef y(:\n", r"is not valid Python: .* \(.*broken\.py, line 2\)"),
        ("bytes.py", b"\xff\xfe", r"is not valid Python: .*utf-8.* \(.*bytes\.py\)"),
        ("front.py", "from harness_papers.control.placebo import Placebo\n", "what it imports from elsewhere does not"),
        ("lost.py", "from nowhere_xyz import Idea\n", "and it needs the module 'nowhere_xyz', which is not installed"),
    ],
)
def test_files_without_methods_say_why(tmp_path, name, content, match):
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError, match=match) as caught:
        discover([tmp_path / name])
    assert "<unknown>" not in str(caught.value)


FAULTS = {
    "a missing module": (ALONE + "\nimport nowhere_xyz\n", "No module named 'nowhere_xyz'"),
    "an exception": (ALONE + "\nraise RuntimeError('no luck')\n", "RuntimeError: no luck"),
    "a misspelt hook": (
        ALONE.replace("def estimate_advantages", "def estimate_advantage"),
        "Did you mean 'estimate_adv",
    ),
    "a host API": ('HOST_API = ">=99"\n' + ALONE, "was written for host API >=99, and this harness offers"),
    "bad needs": (ALONE.replace("m.beta", "m.betta"), "needs cannot be read: AttributeError"),
    "no default": (ALONE.replace("beta: float = -1e-3", "beta: float"), "every hyper-parameter needs a default"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_is_wrong_with_a_file_before_training_is_usage(tmp_path, fault):
    """Exit code 2, in one line that names the file, and no half-loaded module stays behind."""
    source, message = FAULTS[fault]
    file = tmp_path / "my_ideas.py"
    file.write_text(source)
    catalogue = discover([file])  # listing goes on
    before = set(sys.modules)
    with pytest.raises(PluginError) as caught:
        build_stack("parent", catalogue)
    assert caught.value.exit_code == 2
    assert message in str(caught.value)
    assert "my_ideas" in str(caught.value)
    left = [name for name in set(sys.modules) - before if name.startswith("harness_plugin_my_ideas")]
    assert not left or fault == "bad needs"
    file.write_text(ALONE)
    assert build_stack("parent", discover([file])).canonical == "parent"


def test_files_are_read_where_third_party_plugins_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_PLUGIN_AUTOLOAD", "0")
    file = tmp_path / "my_ideas.py"
    file.write_text(ALONE)
    assert build_stack("parent", discover([file])).canonical == "parent"


def test_a_file_that_ends_the_process_is_an_error(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(ALONE + "\n\nraise SystemExit(3)\n")
    with pytest.raises(PluginError, match=r"plugin file .*script.py' cannot be imported, line \d+: SystemExit: 3"):
        build_stack("parent", discover([file]))


def test_a_fault_of_a_file_reads_the_same_whichever_method_was_asked_for(tmp_path):
    """So that a list of several methods of the file is told it once."""
    file = tmp_path / "two.py"
    second = "\n\n@method\nclass Other:\n    def estimate_advantages(self, batch):\n        return batch.reward\n"
    file.write_text(ALONE + second)
    lines = set()
    for name in ("parent", "other"):
        with pytest.raises(PluginError, match=r"two\.py': Other\.estimate_advantages is named like a hook") as caught:
            build_stack(name, discover([file]))
        lines.add(str(caught.value))
    assert len(lines) == 1


def test_a_file_that_fails_before_any_method_tells_what_failed(tmp_path):
    file = tmp_path / "early.py"
    file.write_text("import math\nmade = [\n    math.sqrt(-1)]\n")
    with pytest.raises(PluginError, match=r"early\.py' cannot be imported, line 3: ValueError: ") as caught:
        discover([file])
    assert caught.value.exit_code == 2


def test_wrapper_false_is_plain(tmp_path):
    file = tmp_path / "spelt_out.py"
    file.write_text(ALONE.replace("@hookimpl\n", "@hookimpl(wrapper=False)\n"))
    entry = discover([file])["parent"]
    assert dict(entry.hooks) == {"estimate_advantages": "plain", "policy_loss": "wrapper"} == entry.load().info.hooks
