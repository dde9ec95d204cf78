"""What a trial will take of memory, and what is said when there is not enough."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from harness.policies.llama import LlamaBackbone
from harness.policies.policy import Policy
from harness.policies.random import tiny_policy
from harness.policies.size import Size, size_of
from harness.suites.memory import within_limit
from harness.training import memory
from harness.training.config import BudgetConfig, Limits, LoraConfig, PolicyConfig, TrialConfig
from harness.training.memory import largest_micro_batch, memory_plan, out_of_memory, ran_out
from harness.training.prompts import longest_prompt
from harness.training.trial import run_trial
from tests.policies.networks import FAMILIES, network

QWEN = Size(
    parameters=494_032_768, adapter=0, below=0, layers=24, width=896, inner=4864, heads=14, kv_heads=2, head=64,
    vocabulary=151_936, lean=True,
)  # fmt: skip
LORA = LoraConfig(rank=4)


def settings(**changes):
    return TrialConfig(suite="test", method="grpo(beta=0)", budget=BudgetConfig(compute=5000), **changes)


def with_policy(config, **changes):
    return config.model_copy(update={"policy": config.policy.model_copy(update=changes)})


@pytest.mark.parametrize("targets", [None, "all-linear", "some"])
@pytest.mark.parametrize("name", FAMILIES)
def test_sizes_read_from_files_are_those_of_the_loaded_model(tmp_path, name, targets):
    lora = None
    if targets is not None:
        pytest.importorskip("peft", reason="LoRA needs the extra policy-harness[lora]")
        some = ("c_attn",) if name == "gpt2" else ("q_proj", "v_proj")
        lora = LoraConfig(rank=4, targets=some if targets == "some" else targets)
    Policy(network(name), tiny_policy().tokenizer).save(tmp_path)
    chosen = PolicyConfig(model=str(tmp_path), lora=lora)
    size, policy = size_of(chosen), Policy.of(chosen)
    assert size.parameters + size.adapter == policy.n_params
    if lora is not None:
        assert size.adapter == sum(p.numel() for p in policy.weights().values())
        below = sum(p.numel() for n, p in policy.model.named_parameters() if ".base_layer.weight" in n)
        assert size.below == below
    config = policy.model.config
    assert (size.layers, size.width, size.heads) == (2, config.hidden_size, config.num_attention_heads)
    assert size.lean == isinstance(policy.backbone, LlamaBackbone) == (name in {"llama", "qwen2"})


def test_weights_gradients_and_moments_are_counted():
    plain = memory_plan(settings(), QWEN, 100).held
    assert plain["weights"] == plain["gradients"] == plain["optimizer"] / 2 == 4 * QWEN.parameters
    assert plain["reference"] == 0
    assert memory_plan(settings(), QWEN, 100, needs={"reference"}).held["reference"] == plain["weights"]
    small = dataclasses.replace(QWEN, adapter=10**6, below=358 * 10**6)
    light = memory_plan(with_policy(settings(), lora=LORA, dtype="bfloat16"), small, 100, needs={"reference"}).held
    assert (light["gradients"], light["optimizer"], light["reference"]) == (4 * 10**6, 8 * 10**6, 0)
    assert light["weights"] == plain["weights"] + 4 * 10**6 - 2 * small.below


def test_what_the_sampler_copies_is_what_an_adapter_does_not_hold_in_bfloat16_already():
    small = dataclasses.replace(QWEN, adapter=10**6, below=357_826_560)  # every matrix of the layers
    whole = memory_plan(with_policy(settings(), dtype="bfloat16"), QWEN, 100).sampling
    light = memory_plan(with_policy(settings(), lora=LORA, dtype="bfloat16"), small, 100).sampling
    queries_keys_values = 24 * 896 * (14 + 2 * 2) * 64
    assert whole - light == 2 * QWEN.parameters - 2 * queries_keys_values - 4 * small.adapter
    some = dataclasses.replace(small, below=10**8)  # the rest is float32, and is cast
    partly = memory_plan(with_policy(settings(), lora=LORA, dtype="bfloat16"), some, 100).sampling
    assert partly - light == 2 * (small.below - some.below)


def test_reading_the_files_may_be_the_most_of_all():
    """As with a small adapter: the files are mapped while the weights are made of them."""
    plan = memory_plan(with_policy(settings(), lora=LORA), dataclasses.replace(QWEN, files=2**40), 100)
    assert plan.peak == plan.held["process"] + plan.held["weights"] + 2**40


def test_what_takes_less_is_planned_as_less():
    base = memory_plan(settings(), QWEN, 500)
    assert memory_plan(with_policy(settings(), gradient_checkpointing=True), QWEN, 500).training < base.training / 2
    assert memory_plan(with_policy(settings(), dtype="bfloat16"), QWEN, 500).training < base.training
    assert "GiB a trial: process" in base.line()


def test_a_vocabulary_of_150000_never_costs_more_than_its_pieces():
    long = settings().model_copy(update={"sampling": settings().sampling.model_copy(update={"max_tokens": 4000})})
    wide = dataclasses.replace(QWEN, vocabulary=300_000)
    assert memory_plan(long, wide, 10).training == memory_plan(long, QWEN, 10).training


def test_the_largest_micro_batch_is_the_largest():
    config = settings()
    limit = memory_plan(config, QWEN, 200).peak - 1
    best = largest_micro_batch(config, QWEN, 200, limit)
    assert 0 < best < config.learner.micro_batch

    def peak(size):
        learner = config.learner.model_copy(update={"micro_batch": size})
        return memory_plan(config.model_copy(update={"learner": learner}), QWEN, 200).peak

    assert peak(best) <= limit < peak(best + 1)
    assert largest_micro_batch(config, QWEN, 200, limit + 1) == config.learner.micro_batch
    assert largest_micro_batch(config, QWEN, 200, 2**20) == 0


def test_the_advice_knows_that_a_reference_takes_memory_too():
    with_it = settings().model_copy(update={"method": "grpo(beta=0.1)"})
    limit = memory_plan(with_it, QWEN, 200, needs={"reference"}).peak - 1
    best = largest_micro_batch(with_it, QWEN, 200, limit)
    assert best < with_it.learner.micro_batch == largest_micro_batch(settings(), QWEN, 200, limit)


def test_errors_that_mean_no_memory():
    assert ran_out(torch.OutOfMemoryError("CUDA out of memory"))
    assert ran_out(MemoryError())
    assert not ran_out(RuntimeError("shapes differ"))
    with pytest.raises(RuntimeError) as caught:  # more than any machine has
        torch.empty(2**60, dtype=torch.uint8)
    assert ran_out(caught.value)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), MemoryError()])
def test_a_trial_that_runs_out_says_which_micro_batch_fits(config, tmp_path, monkeypatch, error):
    """Wherever it happens; the trial shrinks nothing by itself."""

    def full(*_, **__):
        raise error

    monkeypatch.setattr("harness.training.learner.through_cut", full)
    monkeypatch.setattr(memory, "_installed", lambda _: 602 * 2**20)  # two MiB beside the process
    result = run_trial(config(), tmp_path / "t")
    assert result.status == "failed"
    assert "out of memory with learner.micro_batch = 64" in result.error
    assert "by the plan" in result.error
    assert "harness doctor" in result.error or "no micro-batch fits" in result.error
    assert "\n" not in result.error


def test_every_case_of_the_advice(config):
    trial = config()
    peak = memory_plan(trial, size_of(trial.policy), longest_prompt(trial)).peak
    assert "no micro-batch fits into 0.01 GiB: give more memory, policy.lora" in out_of_memory(trial, 10 * 2**20)
    spared = trial.policy.model_copy(update={"gradient_checkpointing": True})
    said = out_of_memory(trial.model_copy(update={"policy": spared}), 10 * 2**20)
    assert "give more memory, policy.lora or a smaller sampling.max_tokens" in said  # what it has is no advice
    assert "something else holds memory" in out_of_memory(trial, 2 * peak)
    missing = trial.model_copy(update={"policy": PolicyConfig(model="nowhere")})
    assert "give a smaller one" in out_of_memory(missing, peak)
    wide = trial.model_copy(update={"sampling": trial.sampling.model_copy(update={"max_tokens": 2000, "prompts": 64})})
    most = memory_plan(wide, size_of(wide.policy), longest_prompt(wide)).peak
    assert "the largest that fits into" in out_of_memory(wide, most - 2**20)


def test_a_trial_over_its_limit_says_the_same(config):
    trial = config(limits=Limits(memory="10MiB"))
    said = within_limit(trial, 2**29)
    assert said.startswith("used 0.50 GiB of memory, limits.memory is 10MiB; out of memory with learner.micro_batch")
