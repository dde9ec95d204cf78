"""A trained policy leaves as a directory for other programs."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file

from harness.errors import HarnessError, UsageError
from harness.policies.policy import Policy
from harness.training.config import LoraConfig, PolicyConfig
from harness.training.export import export
from harness.training.trial import run_trial
from tests.policies.networks import sampled, scored


def trained(config, directory, **changes):
    settings = config(lr=0.05)
    settings = settings.model_copy(update={"policy": settings.policy.model_copy(update=changes)})
    assert run_trial(settings, directory).status == "done"
    return settings


def test_a_whole_model(config, tmp_path):
    settings = trained(config, tmp_path / "t")
    policy = export(tmp_path / "t", tmp_path / "out")
    loaded, before = Policy.load(tmp_path / "out"), Policy.of(settings.policy)
    rollouts = sampled(before, tokens=6)
    assert torch.equal(scored(loaded, rollouts).logp, scored(policy, rollouts).logp)
    newest = max((tmp_path / "t" / "checkpoints").iterdir())
    weights = load_file(newest / "tensors.safetensors")
    assert torch.equal(weights["/trial/policy/model.norm.weight"], loaded.model.model.norm.weight)
    with pytest.raises(UsageError, match="is not empty"):
        export(tmp_path / "t", tmp_path / "out")
    with pytest.raises(UsageError, match="trained no adapter"):
        export(tmp_path / "t", tmp_path / "other", adapter=True)


def test_an_adapter_alone_or_merged(config, tmp_path):
    pytest.importorskip("peft", reason="LoRA needs the extra policy-harness[lora]")
    settings = trained(config, tmp_path / "t", lora=LoraConfig(rank=4))
    policy = export(tmp_path / "t", tmp_path / "small", adapter=True)
    export(tmp_path / "t", tmp_path / "whole")
    rollouts = sampled(policy, tokens=6)
    expected = scored(policy, rollouts).logp
    for name in ("small", "whole"):
        assert torch.allclose(scored(Policy.load(tmp_path / name), rollouts).logp, expected, atol=1e-4), name
    assert not torch.allclose(scored(Policy.of(settings.policy), rollouts).logp, expected, atol=1e-3)


def test_where_nothing_can_be_exported(tmp_path, config, policy_dir):
    with pytest.raises(UsageError, match="is no trial's directory"):
        export(tmp_path, tmp_path / "out")
    pytest.importorskip("peft", reason="LoRA needs the extra policy-harness[lora]")
    import shutil

    shutil.copytree(policy_dir, tmp_path / "model")
    settings = config().model_copy(update={"policy": PolicyConfig(model=str(tmp_path / "model"), lora=LoraConfig())})
    run_trial(settings, tmp_path / "t")
    policy = Policy.load(tmp_path / "model")
    with torch.no_grad():
        policy.model.model.norm.weight.add_(1)
    policy.save(tmp_path / "model")
    with pytest.raises(HarnessError, match="has other weights now"):
        export(tmp_path / "t", tmp_path / "out")
