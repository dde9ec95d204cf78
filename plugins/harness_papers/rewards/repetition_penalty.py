"""A penalty for repeated n-grams."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from harness import hookimpl, method
from harness.mathematics import repeated_share

if TYPE_CHECKING:
    from harness import Batch


@method(name="repetition-penalty", paper="2502.03373", base="grpo(beta=0)", scope="group", neutral={"penalty": 0.0})
class RepetitionPenalty:
    """Completions lose by the share of their n-grams that were there before.

    R_i += penalty * (1 - distinct n-grams / n-grams), over token ids as in TRL (open-r1 counts lower-case words).

    wrong_only: only wrong completions pay, as beside a cosine length reward.
    Edge cases: fewer than n tokens give 0; the end token counts as a token.
    Source: TRL, open-r1; arXiv 2502.03373. Confidence: code.
    """

    n: int = 3
    penalty: float = -1.0
    wrong_only: bool = False

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The share as a column."""
        batch = yield
        if not self.penalty:
            return batch
        share = repeated_share(batch.completion_ids, batch.lengths, self.n).to(batch.rewards.dtype)
        return batch.add_reward("repetition", share * ~batch.correct if self.wrong_only else share, self.penalty)
