"""The warm-up itself, a few steps of it, and the checkpoint that it gave."""

import dataclasses

import pytest
import torch

from harness.errors import CheckFailed
from harness.policies.policy import Policy
from harness.policies.registry import resolve
from harness.tasks.sandbox import Sandbox, probe
from harness.warmstart.behaviours import MIXTURE, Examples
from harness.warmstart.measure import TARGET, TaskReport, check, measure
from harness.warmstart.train import Recipe, WarmUp, imitation_loss, save

SMALL = Recipe(steps=4, batch=8, layers=1, width=32, intermediate=64, heads=2)


def weights(policy):
    return torch.cat([p.detach().flatten() for p in policy.model.parameters()])


def test_two_warm_ups_are_equal_bit_for_bit():
    losses = []
    one = WarmUp(SMALL).run(lambda step, loss: losses.append((step, loss)))
    assert torch.equal(weights(one), weights(WarmUp(SMALL).run()))
    assert [step for step, _ in losses] == [1, 2, 3, 4]
    assert not torch.equal(weights(one), weights(WarmUp(dataclasses.replace(SMALL, seed=1)).run()))


def test_the_loss_counts_completion_tokens_once_whatever_the_passes():
    policy = WarmUp(SMALL).policy
    examples = Examples(3).take(7, MIXTURE)
    apart = [imitation_loss(policy, [example]) * (len(example.completion) + 1) for example in examples]
    tokens = sum(len(example.completion) + 1 for example in examples)
    torch.testing.assert_close(imitation_loss(policy, examples), sum(apart) / tokens)


def test_saved_and_loaded_is_the_same_policy_in_half_precision(tmp_path):
    policy = WarmUp(SMALL).run()
    save(policy, tmp_path)
    loaded = Policy.load(tmp_path)
    assert torch.equal(weights(loaded), weights(policy).half().float())
    assert loaded.encode_prompt("1+2=") == policy.encode_prompt("1+2=")


def test_the_embedded_checkpoint_is_small_and_complete():
    files = {file.name: file.stat().st_size for file in resolve("embedded").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"} <= set(files)
    assert sum(files.values()) < 2_000_000
    policy = Policy.load("embedded")
    assert 500_000 <= policy.n_params <= 1_000_000
    text = "".join(map(chr, range(32, 127)))
    assert policy.decode(policy.encode(text)) == text


def test_the_embedded_checkpoint_starts_where_methods_can_learn():
    """On 100 validation problems a task, so with slack of two standard errors; `harness warmstart` uses 500."""
    mode = probe().mode
    if mode is None:
        pytest.skip("this machine allows no sandbox")
    with Sandbox(mode) as sandbox:
        reports = measure(Policy.load("embedded"), sandbox, problems=100, samples=4)
    for report in reports:
        assert TARGET[0] - 0.06 <= report.pass_rate <= TARGET[1] + 0.06
        assert sum(share for share, _ in report.behaviours.values()) == pytest.approx(1)


def test_a_pass_rate_outside_the_target_fails_the_check():
    report = TaskReport("math", 0.5, 10, 0, {}, {}, {})
    with pytest.raises(CheckFailed, match=r"0\.500 on math"):
        check([report])
    check([dataclasses.replace(report, pass_rate=0.3)])
