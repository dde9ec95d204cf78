"""Small made-up batches, and parts of a stack run on them: what a plugin does is measured, not declared."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness.batch import Batch, PolicyOutput, PromptRecord
from harness.errors import told
from harness.host.entry import Entry
from harness.host.hidden import FIRST
from harness.host.markers import hookimpl
from harness.host.parsing import PluginSpec
from harness.host.plugin import method
from harness.host.regime import Regime
from harness.host.stack import Seat
from harness.host.standin import begin, stand_in

if TYPE_CHECKING:
    from harness.host.caller import HookCaller

__all__ = ["GIVEN", "Bench", "Values", "alike", "loss_stage", "make_batch", "started"]

GROUPS, SIZE, TOKENS = 5, 6, 6

Values = tuple[Tensor, ...]


def make_batch(seed: int, regime: Regime) -> Batch:
    """Groups with all, none and some of their completions correct, of every length up to the limit, in float64."""
    noise = torch.Generator().manual_seed(seed)
    rows = GROUPS * SIZE

    def random(*shape: int) -> Tensor:
        return torch.rand(*shape, dtype=torch.float64, generator=noise)

    prompt = torch.arange(GROUPS).repeat_interleave(SIZE)
    lengths = torch.randint(1, TOKENS + 1, (rows,), generator=noise)
    mask = (torch.arange(TOKENS) < lengths[:, None]).double()
    chance = torch.tensor([0.0, 1.0, 0.5, 0.3, 0.7], dtype=torch.float64)[prompt]
    correct = random(rows) < chance
    correct[2 * SIZE], correct[2 * SIZE + 1] = True, False
    old, moved = -3 * random(rows, TOKENS) * mask, (random(rows, TOKENS) - 0.5) * 2 * mask
    return Batch(
        prompt_ids=torch.ones(rows, 2, dtype=torch.long),
        prompt_mask=torch.ones(rows, 2, dtype=torch.float64),
        completion_ids=torch.randint(1, 50, (rows, TOKENS), generator=noise) * mask.long(),
        mask=mask,
        logp_sampler=old + moved if regime.lag else old,
        logp_old=old,
        logp_ref=-3 * random(rows, TOKENS) * mask,
        entropy=(0.1 + random(rows, TOKENS)) * mask,
        greedy_reward=random(rows),
        prompt=prompt,
        rollout=torch.arange(SIZE).repeat(GROUPS),
        round=torch.zeros(rows, dtype=torch.long),
        age=torch.randint(1, 5, (rows,), generator=noise) * int(regime.lag),
        rewards=torch.stack([correct.double(), random(rows)], 1),
        reward_names=("correct", "style"),
        reward_weights=torch.tensor([1.0, 0.5], dtype=torch.float64),
        correct=correct,
        lengths=lengths,
        truncated=(lengths == TOKENS) & (random(rows) < 0.5),
        temperature=torch.ones(rows, dtype=torch.float64),
        max_tokens=TOKENS,
        prompts=tuple(PromptRecord(f"bench:{key}", f"{key} = ", "bench") for key in prompt.tolist()),
        group_keys=prompt,
        kept=torch.ones(rows, dtype=torch.bool),
    )


@method
class Given:
    """Advantages that are handed in: what a wrapper is tried on."""

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Those of the extra `given`."""
        return batch.extras["given"]


GIVEN = Seat(
    label="given",
    spec=PluginSpec("given"),
    entry=Entry("given", "harness", "", "", "", None, loaded=Given),
    plugin=Given(),
    digest="",
    given=False,
)


class Bench:
    """Runs parts of a stack on batches; `failures` are the (label, hook) that could not be, and why."""

    def __init__(self, seats: Sequence[Seat]) -> None:
        self.seats = tuple(seats)
        self.failures: dict[tuple[str, str], str] = {}

    def chain(self, hook: str) -> list[Seat]:
        """The plain implementations of a hook that run, then its wrappers from the innermost out."""
        plain = [seat for seat in self.seats if seat.info.hooks.get(hook) == "plain"]
        wrappers = [seat for seat in self.seats if seat.info.hooks.get(hook) == "wrapper"]
        return (plain[-1:] if hook in FIRST else plain) + wrappers

    def run(self, hook: str, seats: Iterable[Seat], batch: Batch, regime: Regime) -> Values | None:
        """What fresh instances of some plugins, above the defaults, make of a batch; None where they fail.

        A tensor, with what it says at masked-out tokens left out; of the hooks of the loss the gradient with respect to
        the log-probabilities as well.
        """
        fresh = [dataclasses.replace(seat, plugin=_again(seat.plugin)) for seat in seats]
        try:
            return _measure(hook, started(fresh, batch), batch, regime)
        except Exception as error:  # noqa: BLE001 - made-up batches are no reason to fail
            top = fresh[-1].label if fresh else "defaults"
            self.failures.setdefault((top, hook), told(error))
            return None


def alike(one: Values | None, other: Values | None, *, tolerance: float = 1e-9) -> bool:
    """Whether two results are the same, up to a share of the larger; False where one of them failed."""
    if one is None or other is None or len(one) != len(other):
        return False
    return all(_near(left, right, tolerance) for left, right in zip(one, other, strict=True))


def _near(left: Tensor, right: Tensor, tolerance: float) -> bool:
    if left.shape != right.shape:
        return False
    size = max(float(left.nan_to_num().abs().max()), float(right.nan_to_num().abs().max())) if left.numel() else 0.0
    return torch.allclose(left, right, rtol=0, atol=tolerance * size, equal_nan=True)


def _again(plugin: Any) -> Any:
    """A plugin with the same parameters and no state."""
    return type(plugin)(**{field.name: getattr(plugin, field.name) for field in dataclasses.fields(plugin)})


def started(seats: Sequence[Seat], batch: Batch) -> HookCaller:
    """The caller of fresh seats after `start`, with a stand-in for the run."""
    from harness.host.caller import HookCaller

    hooks = HookCaller(seats, stand_in(group_size=SIZE, prompts=GROUPS, max_tokens=TOKENS, gathered=batch))
    begin(hooks, batch)
    return hooks


def _measure(hook: str, hooks: HookCaller, batch: Batch, regime: Regime) -> Values:
    if hook in {"policy_loss", "loss", "regularize"}:
        return loss_stage(hook, hooks, batch, regime)
    found = getattr(hooks, hook)(batch=batch)
    if hook == "shape_rewards":
        return (found.rewards, found.reward_weights, *found.token_columns.values())
    if hook in {"estimate_advantages", "aggregate"}:
        return (found.expand(batch.mask.shape) * batch.mask,)
    if hook == "train_on":
        return (batch.mask if found is None else batch.mask * found,)
    return (found.double(),)


def loss_stage(hook: str, hooks: HookCaller, batch: Batch, regime: Regime) -> Values:
    """(value, gradient) of a hook of the loss: the policy is the old one, or has moved by several updates."""
    old = batch.logp_old
    assert old is not None
    noise = torch.Generator().manual_seed(7)
    moved = torch.rand(batch.mask.shape, dtype=torch.float64, generator=noise) - 0.5
    logp = (old + (moved * batch.mask if regime.updates else 0)).clone().requires_grad_()
    if batch.advantages is None:
        batch = batch.replace(advantages=torch.randn(len(batch), 1, dtype=torch.float64, generator=noise))
    batch = batch.replace(weights=batch.mask / batch.mask.sum())
    hidden = torch.randn(*batch.mask.shape, 4, dtype=torch.float64, generator=noise)
    output = PolicyOutput(
        logp=logp, logp_old=old, mask=batch.mask, entropy=batch.entropy, hidden=hidden,
        prompt_hidden=hidden[:, 0],
    )  # fmt: skip
    found = getattr(hooks, hook)(batch=batch, output=output)
    if hook == "policy_loss":
        value = torch.where(batch.mask > 0, found, torch.zeros_like(found))
    elif hook == "regularize":
        terms = [term if term.dim() == 0 else (batch.weights * term).sum() for _, term in found]
        value = torch.stack(terms).sum() if terms else logp.new_zeros(())
    else:
        value = found
    gradient = None
    if value.requires_grad:
        (gradient,) = torch.autograd.grad(value.sum(), logp, allow_unused=True)
    return value.detach(), torch.zeros_like(batch.mask) if gradient is None else gradient
