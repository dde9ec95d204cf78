"""DAPO: four independent changes to GRPO."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.mathematics import ppo_clip_loss, token_mean_weights

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(
    paper="2503.14476",
    base="grpo(beta=0)",
    clips=True,
    search={"clip_low": (0.1, 0.3), "clip_high": (0.2, 0.5)},
    scope="group",
)
class DAPO:
    """Clip higher, average over tokens, resample prompts that teach nothing, punish overlong answers softly.

    1. clip(r, 1 - clip_low, 1 + clip_high);  2. L = mean over all tokens of the minibatch;
    3. a prompt stays only if 0 < number correct < G (by the task's verdict, not by the shaped reward); new prompts are
    drawn until a full step of them stays. What was thrown away stays charged, the suite caps the rounds, and at the
    cap the step trains on what is there; groups of one stay, as in verl;
    4. with a buffer of C = overlong x max_tokens tokens, the reward gets overlong_weight times
    0 if T_i <= L - C, else (L - C - T_i) / C, never below -1. The advantage is the base's.

    dynamic: switches 3. overlong: 4096 of 20480 tokens in the paper, so 0.2; 0 switches 4. overlong_weight: 1 with
    the paper's rewards of -1 and 1. overlong_floor: the least of 4., before the weight; None lets completions beyond
    max_tokens fall further (verl, AReaL). drop_truncated: the paper's other variant, truncated answers leave the loss.
    Edge cases: no mixed group at all goes on to the cap; T_i of exactly L - C is not punished, L is by the whole.
    Source: arXiv 2503.14476, verl's recipe. Confidence: code.
    """

    clip_low: float = 0.2
    clip_high: float = 0.28
    dynamic: bool = True
    overlong: float = 0.2
    overlong_weight: float = 1.0
    overlong_floor: float | None = -1.0
    drop_truncated: bool = False

    @hookimpl
    def keep(self, batch: Batch) -> Tensor:
        """Groups that are neither all right nor all wrong."""
        if not self.dynamic:
            return torch.ones_like(batch.correct)
        groups = batch.groups
        mixed = groups.any(batch.correct) & ~groups.all(batch.correct)
        return mixed | (groups.count() == 1)

    @hookimpl
    def next_round(self, batch: Batch, state: Any) -> Sequence[Any] | None:
        """As many new prompts as are missing from a full step."""
        missing = state.prompts_per_step - Groups(batch.prompt[batch.kept]).number
        return state.draw(missing) if self.dynamic and missing > 0 else None

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The soft overlong punishment as a column of its own."""
        batch = yield
        buffer = self.overlong * batch.max_tokens
        if not buffer or not self.overlong_weight:
            return batch
        excess = (batch.max_tokens - buffer - batch.lengths.to(batch.rewards.dtype)) / buffer
        return batch.add_reward("overlong", excess.clamp(self.overlong_floor, 0), weight=self.overlong_weight)

    @hookimpl
    def train_on(self, batch: Batch) -> Tensor:
        """Everything, or everything that ended by itself."""
        return ~batch.truncated if self.drop_truncated else torch.ones_like(batch.truncated)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The clipped surrogate with a wider upper bound."""
        assert batch.advantages is not None
        return ppo_clip_loss(output.ratio, batch.advantages, self.clip_low, self.clip_high)
