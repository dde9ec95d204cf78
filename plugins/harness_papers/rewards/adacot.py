"""AdaCoT: reasoning has a price both ways, and the decision to reason is kept from collapsing."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.modes import reasons, with_modes

if TYPE_CHECKING:
    from harness import Batch


@method(
    name="adacot",
    paper="2505.11896",
    base="ppo",
    experimental=True,
    neutral={"miss": 0.0, "over": 0.0, "malformed": 0.0, "mask": "never"},
    active={"direct": "01234"},
)
class AdaCoT:
    """Reasoning costs where it is not needed, and leaving it out where it is; one-sided data keep off the choice.

    R_i <- R_i - miss P_miss - over P_over - malformed P_fmt: P_miss = 1 if the completion answers directly though
    reasoning was needed, P_over = 1 if it reasons though it was not, P_fmt = 1 if the column `form` is below 1/2.
    Selective loss masking: the first token, which decides, has no loss in steps whose prompts all need reasoning, or
    none does (mask "one-sided"; or "always", "never").

    A completion that begins with a character of `direct` answers directly. The paper has labels of need; here a prompt
    needs reasoning if fewer than half of its group's direct answers are right, and is unknown, and free of charge,
    without any. The prices are swept in the paper, and are ours here.
    Edge cases: an empty completion reasons; its missing decision masks nothing. Groups only tell the need: advantages
    are PPO's, against the critic, so that neither a group of equals nor a group of one gives 0.
    Source: arXiv 2505.11896, the abstract. Confidence: abstract (reconstructed).
    """

    miss: float = 0.3
    over: float = 0.1
    malformed: float = 0.1
    mask: Literal["one-sided", "always", "never"] = "one-sided"
    direct: str = "#"
    form: str = "format"

    @hookimpl(wrapper=True)
    def generate(self) -> Generator[None, Any, Any]:
        """Which completions reason."""
        return with_modes((yield), self.direct)

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The prices as one more column."""
        batch = yield
        if not (self.miss or self.over or self.malformed):
            return batch
        needed, known = self.need(batch)
        thinks = reasons(batch)
        price = self.miss * (known & needed & ~thinks) + self.over * (known & ~needed & thinks)
        if self.form in batch.reward_names:
            price = price + self.malformed * (batch.rewards[:, batch.reward_names.index(self.form)] < 0.5)
        return batch.add_reward("reasoning", -price.to(batch.rewards.dtype))

    @hookimpl
    def train_on(self, batch: Batch) -> Tensor:
        """[N, T] bool: all but the decisions of a one-sided step."""
        chosen = torch.ones_like(batch.mask, dtype=torch.bool)
        needed, known = self.need(batch)
        one_sided = bool(known.any()) and bool((needed[known] == needed[known][0]).all())
        if batch.tokens and (self.mask == "always" or (self.mask == "one-sided" and one_sided)):
            chosen[:, 0] = False
        return chosen

    @staticmethod
    def need(batch: Batch) -> tuple[Tensor, Tensor]:
        """([N] bool whether the row's prompt needs reasoning, [N] bool whether that is known)."""
        direct = ~reasons(batch)
        return batch.groups.mean(batch.correct, direct) < 0.5, batch.groups.any(direct)
