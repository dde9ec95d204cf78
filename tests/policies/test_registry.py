import pytest

from harness.errors import HarnessError, UsageError
from harness.policies import registry
from harness.policies.load import load_tokenizer
from harness.policies.random import tiny_policy


@pytest.fixture
def models(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_MODELS", str(tmp_path / "models"))
    tiny_policy().save(tmp_path / "models" / "smollm2-135m")
    return tmp_path


def test_names_and_paths(models):
    assert registry.names() == ["embedded", "smollm2-135m"]
    assert registry.resolve("smollm2-135m") == models / "models" / "smollm2-135m"
    assert registry.resolve(models / "models" / "smollm2-135m").is_dir()


def test_default_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("HARNESS_MODELS", raising=False)
    monkeypatch.chdir(tmp_path)
    assert str(registry.models_directory()) == "models"
    assert registry.names() == ["embedded"]


def test_unknown_names_name_the_nearest(models):
    with pytest.raises(UsageError, match=r"'smollm-135m' is neither .* Did you mean 'smollm2-135m'"):
        registry.resolve("smollm-135m")
    with pytest.raises(UsageError, match=r"directory without config.json"):
        registry.resolve(models)


def test_a_directory_of_a_trial_is_no_model(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    for name in ("config.json", "status.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(UsageError, match=r"directory of a trial.*harness models export"):
        registry.resolve(tmp_path)


def test_a_model_without_tokenizer_is_told_so(tmp_path):
    tiny_policy().model.save_pretrained(tmp_path)
    with pytest.raises(HarnessError, match="has no tokenizer"):
        load_tokenizer(tmp_path)
