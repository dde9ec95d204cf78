"""A stack through verl's registries: the stack's own advantages, loss and gradient, however verl cuts the minibatch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from harness import hookimpl, method, probe
from harness.errors import HarnessError, UsageError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    core = pytest.importorskip("verl.trainer.ppo.core_algos")
    from verl.workers.config import ActorConfig

    from harness.bridges.verl import register
    from harness.bridges.verl.modes import recognize, sample, verl_weights

MAX = 12
ROWS, WIDTH = 8, 9
LENGTHS = [1, 9, 3, 5, 2, 7, 4, 6]
UID = np.array(["b", "a", "b", "a", "b", "a", "b", "a"], dtype=object)
METHODS = [
    ("grpo(beta=0)", ()),
    ("dr-grpo", ()),
    ("dr-grpo+f-grpo", ()),
    ("gspo", ()),
    ("cispo", ()),
    ("dapo(dynamic=False)", ("keep", "next_round", "train_on")),
    ("reinforce", ()),
    ("rloo(beta=0)", ()),
]


@pytest.fixture(autouse=True)
def registries(monkeypatch):
    """Nothing that a test registers stays."""
    monkeypatch.setattr(core, "ADV_ESTIMATOR_REGISTRY", dict(core.ADV_ESTIMATOR_REGISTRY))
    monkeypatch.setattr(core, "POLICY_LOSS_REGISTRY", dict(core.POLICY_LOSS_REGISTRY))


class Data:
    """What verl would hand over, in float64."""

    def __init__(self, seed=0):
        noise = torch.Generator().manual_seed(seed)
        self.bool_mask = torch.arange(WIDTH) < torch.tensor(LENGTHS)[:, None]
        self.mask = self.bool_mask.double()
        self.rewards = torch.tensor([1.0, 0.0, 0.0, 1.0, 0.4, 0.7, 0.0, 1.0], dtype=torch.float64)
        self.token_rewards = torch.zeros(ROWS, WIDTH, dtype=torch.float64)
        self.token_rewards[torch.arange(ROWS), torch.tensor(LENGTHS) - 1] = self.rewards
        self.old = -torch.rand(ROWS, WIDTH, generator=noise, dtype=torch.float64)
        self.logp = self.old + 0.4 * torch.randn(ROWS, WIDTH, generator=noise, dtype=torch.float64)

    def probe(self, stack):
        """(advantages [N, T], loss, gradient) by the harness alone."""
        fields = {"mask": self.mask.numpy(), "max_tokens": MAX}
        rewards = probe.rewards(stack, self.rewards.numpy(), UID, **fields)
        columns = np.stack(list(rewards.values()), 1)
        found = probe.advantages(stack, columns, UID, **fields)
        found = found if found.ndim == 2 else found[:, None] * self.mask.numpy()
        loss, slope = probe.loss(
            stack, logp=self.logp.numpy(), logp_old=self.old.numpy(), rewards=self.rewards.numpy(), group=UID, **fields
        )
        return torch.as_tensor(found), loss, torch.as_tensor(slope)


def config(made, **info):
    """An actor's config as `made.settings` asks for, with the totals that verl's workers fill in."""
    asked = dict(line.split("=") for line in made.settings)
    mode = asked.get("actor_rollout_ref.actor.loss_agg_mode", "token-mean")
    scale = asked.get("actor_rollout_ref.actor.loss_scale_factor")
    actor = ActorConfig(
        strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1, loss_agg_mode=mode,
        loss_scale_factor=None if scale is None else int(scale),
    )  # fmt: skip
    actor.global_batch_info.update(
        dp_size=1, batch_num_tokens=None, global_batch_size=None, loss_scale_factor=actor.loss_scale_factor
    )
    actor.global_batch_info.update(info)
    return actor


def estimate(made, data):
    estimator = core.get_adv_estimator_fn(made.name)
    return estimator(
        token_level_rewards=data.token_rewards, response_mask=data.bool_mask, index=UID, config={"gamma": 1.0}
    )[0]


def loss_of(made, data, advantages, rows=slice(None), actor=None, **more):
    """(loss, gradient [N, T]) by verl's registry."""
    actor = config(made) if actor is None else actor
    leaf = data.logp.clone().requires_grad_()
    loss, metrics = core.get_policy_loss_fn(made.name)(
        old_log_prob=data.old[rows], log_prob=leaf[rows], advantages=advantages[rows],
        response_mask=data.bool_mask[rows], loss_agg_mode=actor.loss_agg_mode, config=actor, **more,
    )  # fmt: skip
    assert set(metrics) == {"actor/ppo_kl"}
    return loss.detach(), torch.autograd.grad(loss, leaf)[0]


@pytest.mark.parametrize(("stack", "without"), METHODS)
def test_advantages_loss_and_gradient_are_the_stack_s(stack, without):
    data = Data()
    made = register(stack, max_tokens=MAX, without=without)
    expected, value, slope = data.probe(stack)
    found = estimate(made, data)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)
    loss, gradient = loss_of(made, data, found)
    assert float(loss) == pytest.approx(value, rel=1e-6)
    torch.testing.assert_close(gradient, slope, rtol=1e-6, atol=1e-10)  # verl adds 1e-8 to lengths


@pytest.mark.parametrize(("stack", "without"), METHODS)
@pytest.mark.parametrize("workers", [1, 2])
def test_micro_batches_and_workers_change_nothing(stack, without, workers):
    data = Data()
    made = register(stack, max_tokens=MAX, without=without)
    found = estimate(made, data)
    value, slope = loss_of(made, data, found)
    actor = config(made, dp_size=workers, batch_num_tokens=int(data.mask.sum()), global_batch_size=ROWS)
    parts = [loss_of(made, data, found, [row, row + 1], actor) for row in range(0, ROWS, 2)]
    torch.testing.assert_close(sum(loss for loss, _ in parts) / workers, value)
    torch.testing.assert_close(sum(gradient for _, gradient in parts) / workers, slope)


def test_grpo_agrees_with_verl_s_own():
    data = Data()
    made = register("grpo(beta=0, dual=3)", max_tokens=MAX)
    theirs = core.compute_grpo_outcome_advantage(data.token_rewards.clone(), data.mask, UID, epsilon=1e-6)[0]
    found = estimate(made, data)
    torch.testing.assert_close(found, theirs)
    actor = config(made)
    leaf = data.logp.clone().requires_grad_()
    loss, _ = core.get_policy_loss_fn("vanilla")(
        data.old, leaf, theirs, data.mask, loss_agg_mode=actor.loss_agg_mode, config=actor
    )
    value, slope = loss_of(made, data, found)
    torch.testing.assert_close(value, loss.detach())
    torch.testing.assert_close(slope, torch.autograd.grad(loss, leaf)[0])


@pytest.mark.parametrize(
    ("stack", "theirs", "low", "high"),
    [("cispo(cap=1.2, floor=0.9)", "cispo", 0.1, 0.2), ("gspo(clip_low=0.05, clip_high=0.1)", "gspo", 0.05, 0.1)],
)
def test_losses_agree_with_verl_s_own(stack, theirs, low, high):
    data = Data()
    made = register(stack, max_tokens=MAX)
    actor = config(made)
    object.__setattr__(actor, "clip_ratio_low", low)
    object.__setattr__(actor, "clip_ratio_high", high)
    found = estimate(made, data)
    leaf = data.logp.clone().requires_grad_()
    loss, _ = core.get_policy_loss_fn(theirs)(
        data.old, leaf, found, data.mask, loss_agg_mode=actor.loss_agg_mode, config=actor
    )
    value, slope = loss_of(made, data, found)
    torch.testing.assert_close(value, loss.detach())
    torch.testing.assert_close(slope, torch.autograd.grad(loss, leaf)[0])


def test_rollout_weights_multiply_the_token_losses():
    data = Data()
    made = register("grpo(beta=0)", max_tokens=MAX)
    found = estimate(made, data)
    factor = torch.rand(ROWS, WIDTH, dtype=torch.float64)
    _, slope = loss_of(made, data, found)
    _, corrected = loss_of(made, data, found, rollout_is_weights=factor)
    torch.testing.assert_close(corrected, slope * factor)
    made = register("raft", max_tokens=MAX)
    with pytest.raises(UsageError, match="raft has a loss of its own"):
        loss_of(made, data, estimate(made, data), rollout_is_weights=factor)


def test_settings_name_the_aggregation_of_the_stack():
    made = register("dr-grpo+f-grpo", max_tokens=1024, name="mine")
    assert made.settings == [
        "algorithm.adv_estimator=mine",
        "actor_rollout_ref.actor.policy_loss.loss_mode=mine",
        "actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-sum-norm",
        "actor_rollout_ref.actor.loss_scale_factor=1024",
    ]
    assert register("dr-grpo+f-grpo", max_tokens=1024).name == "harness_dr_grpo_f_grpo"


@pytest.mark.parametrize("mode", ["token-mean", "token-sum", "seq-mean-token-mean", "seq-mean-token-sum"])
def test_every_aggregation_of_verl_is_recognized_by_its_weights(mode):
    mask = sample(MAX).mask
    found = recognize(verl_weights(mask, mode, {}), mask)
    assert (found.name, found.scale) == (mode, None)
    assert recognize(verl_weights(mask, "seq-mean-token-sum-norm", {"loss_scale_factor": 30}), mask).scale == 30


def test_a_config_that_weighs_tokens_otherwise_is_refused():
    data = Data()
    made = register("grpo(beta=0)", max_tokens=MAX)
    actor = config(made)
    object.__setattr__(actor, "loss_agg_mode", "token-mean")
    with pytest.raises(UsageError, match=r"set actor_rollout_ref\.actor\.loss_agg_mode=seq-mean-token-mean"):
        loss_of(made, data, estimate(made, data), actor=actor)
    made = register("dr-grpo", max_tokens=MAX)
    actor = config(made, loss_scale_factor=None)
    with pytest.raises(UsageError, match=f"loss_scale_factor={MAX}"):
        loss_of(made, data, estimate(made, data), actor=actor)


@pytest.mark.parametrize("stack", ["delta-l", "raft"])
def test_weights_and_losses_that_verl_cannot_add_up_need_whole_minibatches(stack):
    data = Data()
    made = register(stack, max_tokens=MAX)
    assert made.mode is None
    found = estimate(made, data)
    _, value, slope = data.probe(stack)
    tokens = int(data.mask.sum())
    loss, gradient = loss_of(made, data, found, actor=config(made, batch_num_tokens=tokens, global_batch_size=ROWS))
    assert float(loss) == pytest.approx(value)
    torch.testing.assert_close(gradient, slope)
    with pytest.raises(HarnessError, match=f"{stack} needs whole minibatches in verl"):
        loss_of(made, data, found, [0, 1], config(made, batch_num_tokens=tokens, global_batch_size=ROWS))
    with pytest.raises(HarnessError, match="needs whole minibatches"):
        loss_of(made, data, found, actor=config(made, dp_size=2, batch_num_tokens=tokens, global_batch_size=ROWS))


def test_what_verl_has_no_place_for_is_refused_by_name():
    with pytest.raises(UsageError, match="verl bridge cannot carry keep, next_round, train_on of 'dapo'"):
        register("dapo", max_tokens=MAX)
    with pytest.raises(UsageError, match="verl bridge cannot give reference"):
        register("grpo", max_tokens=MAX)


def test_a_name_is_taken_once_and_verl_s_own_are_safe():
    register("gspo", max_tokens=MAX)
    with pytest.raises(UsageError, match="named 'harness_gspo' already"):
        register("gspo", max_tokens=MAX)
    with pytest.raises(UsageError, match="named 'grpo' already"):
        register("gspo", max_tokens=MAX, name="grpo")


def test_extras_of_the_estimator_cannot_reach_the_loss():
    @method
    class Extras:
        @hookimpl
        def shape_rewards(self, batch):
            return batch.with_extras(bonus=batch.reward)

    made = register(Extras, max_tokens=MAX)
    with pytest.raises(HarnessError, match=r"cannot carry batch\.extras \(bonus\)"):
        estimate(made, Data())


def test_the_estimator_sees_cut_off_responses_and_token_rewards():
    seen = []

    @method
    class Looks:
        @hookimpl
        def estimate_advantages(self, batch, state):
            seen.append((batch.truncated.tolist(), batch.token_rewards, state.step, state.group_size))
            return batch.groups.center(batch.reward)

    data = Data()
    made = register(Looks, max_tokens=9)
    estimate(made, data)
    estimate(made, data)
    assert seen[0][0] == [length == 9 for length in LENGTHS]
    torch.testing.assert_close(seen[0][1], data.token_rewards)
    assert [(step, size) for _, _, step, size in seen] == [(0, 4), (1, 4)]


def test_workers_get_the_stack_by_importing_a_module_that_verl_is_told_of(tmp_path):
    (tmp_path / "my_stack.py").write_text(
        "from harness.bridges.verl import register\nregister('dr-grpo+f-grpo', max_tokens=64, name='my_stack')\n"
    )
    code = (
        "import verl\nfrom verl.trainer.ppo import core_algos as c\n"
        "print(c.get_adv_estimator_fn('my_stack'), c.get_policy_loss_fn('my_stack'))"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = {**os.environ, "VERL_USE_EXTERNAL_MODULES": "my_stack", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert "Advantages" in done.stdout
    assert "PolicyLoss" in done.stdout


def test_the_example_of_the_docs_gives_the_settings_it_shows():
    text = (Path(__file__).parents[2] / "docs" / "bridges.md").read_text(encoding="utf-8")
    example = next(block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "bridges.verl" in block)
    shown: list[str] = []
    exec(compile(example, "docs/bridges.md", "exec"), {"print": shown.extend})
    assert len(shown) == 4
    assert all(f"        {line}" in text for line in shown)
