"""What a machine, a model or a tokenizer lacks is told once and beforehand."""

import pytest

from harness.cli import main
from harness.errors import Faults, UsageError
from harness.policies.random import tiny_policy
from harness.suites import Suite
from harness.suites.missing import check_machine, check_policy


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    tiny_policy().save(folder)
    return folder


def suite(*sets):
    return Suite.load("tiny", list(sets), {"seeds": 1, "methods": []})


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["sampler.engine=vllm"], "sampler.engine is vllm, which is not installed: pip install"),
        (["policy.lora={rank: 4}"], r"policy.lora needs an extra: pip install 'policy-harness\[lora\]'"),
        (["policy.attention=flash_attention_2"], "flash_attention_2 needs flash-attn"),
        (["policy.device=cuda"], "policy.device is cuda, and torch sees no CUDA here"),
    ],
)
def test_a_machine_without_it(monkeypatch, sets, said):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(UsageError, match=said) as raised:
        check_machine(suite(*sets))
    assert "\n" not in str(raised.value)


def test_all_that_is_missing_is_told_at_once(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(Faults) as raised:
        check_machine(suite("sampler.engine=vllm", "policy.lora={rank: 4}"))
    assert len(raised.value.lines) == 2


def test_a_machine_with_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: "there")
    check_machine(suite("sampler.engine=vllm", "policy.lora={rank: 4}", "policy.attention=flash_attention_2"))


def test_layers_that_the_model_has_not(model):
    check_policy(suite(f"policy.model={model}", "policy.lora={targets: [q_proj, down_proj]}"))
    with pytest.raises(UsageError, match=r"policy.lora.targets: the model has no layer 'q_prj'. Did you mean 'q_proj'"):
        check_policy(suite(f"policy.model={model}", "policy.lora={targets: [v_proj, q_prj]}"))


def test_texts_that_end_nothing(model):
    check_policy(suite(f"policy.model={model}", "policy.stop=['1']"))
    with pytest.raises(UsageError, match=r"policy.stop: '12' is 2 tokens of this tokenizer"):
        check_policy(suite(f"policy.model={model}", "policy.stop=['12']"))
    with pytest.raises(UsageError, match=r"policy.chat is true, but the tokenizer has no chat template"):
        check_policy(suite(f"policy.model={model}", "policy.chat=true"))


def test_a_run_says_it_before_any_trial(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit) as ended:
        main(["run", "tiny", "--set", "policy.device=cuda", "--no-tracking"])
    assert ended.value.code == 2
    assert "torch sees no CUDA here" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
