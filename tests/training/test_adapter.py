"""Trials whose adapter trains: gradients, references, checkpoints, lagged weights."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file

from harness.policies.policy import Policy
from harness.policies.random import tiny_policy
from harness.training.config import LoraConfig, PolicyConfig
from harness.training.trial import run_trial
from tests.policies.networks import FAMILIES, network
from tests.training.conftest import apart, gradients

LORA = LoraConfig(rank=4, alpha=8)


@pytest.fixture(scope="session")
def family_dir(tmp_path_factory):
    """Directories of tiny networks, made on demand."""
    made = {}

    def directory(name):
        if name not in made:
            made[name] = str(tmp_path_factory.mktemp(name))
            Policy(network(name), tiny_policy().tokenizer).save(made[name])
        return made[name]

    return directory


def over(settings, model, **changes):
    """The same settings over another model."""
    return settings.model_copy(update={"policy": PolicyConfig(model=model, **changes)})


def learnable(batch):
    """Advantages that are not all 0: a random policy is never right."""
    draw = torch.Generator().manual_seed(0)
    return batch.replace(advantages=torch.randn(len(batch), 1, dtype=batch.mask.dtype, generator=draw))


@pytest.mark.parametrize("lora", [None, LORA], ids=["whole", "lora"])
@pytest.mark.parametrize("name", FAMILIES)
def test_micro_batches_change_no_gradient(config, started, family_dir, name, lora):
    """Also with dropout in the configuration: it is off in every pass."""
    if lora is not None:
        pytest.importorskip("peft", reason="LoRA needs the extra policy-harness[lora]")
    exact = name != "gemma2"  # its attention is computed in float32
    dtype = "float64" if exact else "float32"
    settings = over(config(micro_batch=1000, compute=1e6), family_dir(name), lora=lora, dtype=dtype)
    trial, batch = started(settings)
    batch, learner = learnable(batch), trial.context.learner
    whole = gradients(trial, batch)
    learner.config = learner.config.model_copy(update={"micro_batch": 3})
    assert any(bool(g.any()) for g in whole)
    assert apart(whole, gradients(trial, batch)) < (1e-6 if exact else 1e-4)


@pytest.mark.parametrize("lora", [None, LORA], ids=["whole", "lora"])
@pytest.mark.parametrize("name", ["llama", "gemma2"])  # the lean forward, and the model's own
def test_layers_that_run_again_give_the_same_gradient(config, started, family_dir, name, lora):
    if lora is not None:
        pytest.importorskip("peft", reason="LoRA needs the extra policy-harness[lora]")
    found = []
    for again in (False, True):
        settings = config(micro_batch=1000, compute=1e6)
        settings = over(settings, family_dir(name), lora=lora, gradient_checkpointing=again)
        trial, batch = started(settings)
        found.append(gradients(trial, learnable(batch)))
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@pytest.fixture
def lora_settings(config, policy_dir):
    pytest.importorskip("peft", reason="LoRA needs the extra policy-harness[lora]")
    return lambda method="grpo(beta=0)", **changes: over(
        config(method, **changes), policy_dir, lora=LORA, dtype=changes.get("dtype", "float32")
    )


def test_the_divergence_from_the_reference_begins_at_exactly_0(lora_settings, started):
    trial, batch = started(lora_settings("grpo(beta=0.1)"))
    assert torch.equal(batch.logp_ref, batch.logp_old)
    trial.context.learner.epoch(learnable(batch))
    moved = trial.context.state.reference.evaluate(batch).logp
    assert torch.equal(moved, batch.logp_ref)
    assert not torch.equal(trial.context.metered.evaluate(batch).logp, batch.logp_old)


def test_checkpoints_hold_the_adapter_alone(lora_settings, tmp_path):
    result = run_trial(lora_settings("ppo-ewma"), tmp_path / "t")
    assert (result.status, result.error) == ("done", None)
    newest = max((tmp_path / "t" / "checkpoints").iterdir())
    tensors = load_file(newest / "tensors.safetensors")
    policy = {name for name in tensors if name.startswith("/trial/policy/")}
    assert policy
    assert all("lora_" in name for name in policy)
    size = sum(tensors[name].numel() for name in policy)
    # the adapter, its two moments, the average's adapter; a step counter for each parameter
    assert sum(x.numel() for x in tensors.values() if x.dim()) == 4 * size


@pytest.mark.parametrize("changes", [{"lag": 1}, {"dtype": "bfloat16"}], ids=["lag", "bfloat16"])
def test_in_pieces_it_equals_an_uninterrupted_trial(lora_settings, tmp_path, changes):
    settings = lora_settings("ppo-ewma", **changes)
    run_trial(settings, tmp_path / "whole")
    for _ in range(100):
        result = run_trial(settings, tmp_path / "pieces", should_stop=lambda: True)
        if result.status == "done":
            break
    assert result.status == "done"
    assert (tmp_path / "pieces" / "metrics.jsonl").read_bytes() == (tmp_path / "whole" / "metrics.jsonl").read_bytes()


def test_an_adapter_for_other_weights_is_refused(lora_settings, started):
    from harness.errors import HarnessError
    from harness.training.resume import resume, tree

    trial, _ = started(lora_settings())
    state = {**tree(trial), "below": "others"}
    with pytest.raises(HarnessError, match=r"for other weights than policy.model"):
        resume(trial, state)


def test_lagged_weights_are_adapters(lora_settings, started):
    trial, _ = started(lora_settings(lag=2))
    kept = trial.lag.kept[0]
    assert kept
    assert all("lora_" in name for name in kept)


def test_a_copy_costs_a_whole_forward(lora_settings, started):
    trial, batch = started(lora_settings("ppo-ewma"))
    ledger = trial.context.ledger
    before = ledger.total.compute
    trial.context.state.modules["ewma"].run(batch, "module:ewma")
    assert ledger.total.compute - before == float(batch.prompt_mask.sum() + batch.lengths.sum())
