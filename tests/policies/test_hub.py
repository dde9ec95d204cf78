"""Names of the Hub against a cache on disk; the Hub itself is never asked here."""

from __future__ import annotations

import json
import shutil

import pytest

from harness.errors import HarnessError, UsageError
from harness.policies import hub
from harness.policies.policy import Policy
from harness.policies.random import tiny_policy
from harness.policies.registry import resolve
from harness.training.config import PolicyConfig

COMMIT, OTHER = "a" * 40, "b" * 40


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache as the Hub's library keeps it: two commits, `main` is the first."""
    root = tmp_path / "hub"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(root))
    monkeypatch.setattr("huggingface_hub.file_download.HF_HUB_CACHE", str(root), raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    home = root / "models--someone--tiny"
    for number, commit in enumerate((COMMIT, OTHER)):
        tiny_policy(seed=number).save(home / "snapshots" / commit)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(COMMIT)
    return home


def test_a_cached_name_is_a_directory_of_a_commit(cache):
    found = resolve("someone/tiny")
    assert found == cache / "snapshots" / COMMIT
    assert hub.commit_of(found) == COMMIT
    assert hub.commit_of(cache) is None
    assert resolve("someone/tiny", OTHER) == cache / "snapshots" / OTHER
    one, two = (Policy.of(PolicyConfig(model="someone/tiny", revision=commit)).digest() for commit in (None, OTHER))
    assert (one, two) == tuple(Policy.load(cache / "snapshots" / commit).digest() for commit in (COMMIT, OTHER))
    assert one != two  # what a trial's key holds


def test_offline_a_name_that_is_not_cached_says_what_to_do(cache):
    with pytest.raises(UsageError, match=r"'someone/else@v1' is not in the Hub's cache") as caught:
        resolve("someone/else", "v1")
    assert "unset it and run `harness models add someone/else@v1`, or copy the model's directory" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_download_that_fails_is_one_line(cache, monkeypatch):
    def unreachable(*_, **__):
        raise OSError("no route to host\nand more")

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("huggingface_hub.snapshot_download", unreachable)
    with pytest.raises(HarnessError, match=r"could not be downloaded \(no route to host\); try `harness models add"):
        resolve("someone/else")


def test_what_is_downloaded_has_safetensors(cache, monkeypatch):
    asked = {}

    def downloaded(name, *, revision, allow_patterns):
        asked.update(name=name, revision=revision, patterns=allow_patterns)
        return str(cache / "snapshots" / COMMIT)

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("huggingface_hub.snapshot_download", downloaded)
    assert resolve("someone/else", "v1") == cache / "snapshots" / COMMIT
    assert (asked["name"], asked["revision"]) == ("someone/else", "v1")
    assert not any(pattern.endswith((".bin", ".pt", ".py")) for pattern in asked["patterns"])
    (cache / "snapshots" / COMMIT / "model.safetensors").unlink()
    with pytest.raises(HarnessError, match="has no safetensors on the Hub"):
        resolve("someone/else", "v1")


def test_a_cache_that_misses_a_part_is_no_model(cache):
    """As after a download that was cut short."""
    folder = cache / "snapshots" / COMMIT
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    shutil.move(folder / "model.safetensors", folder / "model-1.safetensors")
    with pytest.raises(UsageError, match="not in the Hub's cache"):
        resolve("someone/tiny")


def test_directories_have_no_revision(tmp_path):
    tiny_policy().save(tmp_path)
    with pytest.raises(UsageError, match="only names of the Hub have revisions"):
        resolve(tmp_path, "main")


def test_weights_in_parts(tmp_path):
    policy = tiny_policy()
    policy.model.save_pretrained(tmp_path, max_shard_size="20KB")
    policy.tokenizer.save_pretrained(tmp_path)
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 2
    assert Policy.load(tmp_path).digest() == policy.digest()


def test_the_command_fetches_and_names_the_commit(cache, monkeypatch, capsys):
    from harness.cli import main

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(cache / "snapshots" / OTHER))
    with pytest.raises(SystemExit) as ended:
        main(["models", "add", "someone/tiny@v2"])
    assert ended.value.code == 0
    assert f"`revision: {OTHER}`" in capsys.readouterr().out
