"""F-GRPO: a focal factor on any group-relative advantage."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch


@method(
    name="f-grpo",
    paper="2602.06717",
    base="grpo(beta=0)",
    scope="group",
    neutral={"gamma": 0.0},
    search={"gamma": (0.25, 2.0, "log")},
)
class FGRPO:
    """Prompts that the policy already solves pull less.

    A_i <- (1 - p)^gamma A_i, with p the share of correct completions in the group; the same for every token. The
    paper reads p off rewards of two values; the task's verdict says the same for any reward.

    gamma: 0.5 or 1 in the paper; 0 is the identity.
    Edge cases: all right gives factor 0, all wrong factor 1 (the advantage below is 0 in both).
    Source: arXiv 2602.06717 by way of notes that quote the equations. Confidence: secondary.
    """

    gamma: float = 0.5

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """The advantages below, times the focal factor."""
        advantages = yield
        return advantages * (1 - batch.groups.mean(batch.correct.to(advantages.dtype)))[:, None] ** self.gamma
