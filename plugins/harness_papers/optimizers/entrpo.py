"""EnTRPO: TRPO on advantages with entropy in them, over a buffer."""

from __future__ import annotations

from collections.abc import Generator

from torch import Tensor

from harness import Batch, hookimpl, method
from harness.errors import PluginError
from harness.mathematics import discounted_returns


@method(
    name="entrpo", paper="2110.13373", base="trpo", needs={"entropy"}, experimental=True,
    neutral={"weight": 0.0, "memory": 0},
)  # fmt: skip
class EnTRPO:
    """The entropy that lies ahead of a token is added to its advantage, inside TRPO and over recent batches.

    A'_{i,t} = A_{i,t} + weight sum_{l >= 0} gamma^l H_{i,t+l}, entropies at the start of the step, detached; the rows
    of the last `memory` steps are added to the batch and measured anew.

    The paper's constants are for cart-pole and unknown; weight, gamma and memory are ours.
    State: the rows of the last steps. Edge cases: weight = 0 and memory = 0 is TRPO; a group of equals or of one keeps
    the entropy's part.
    Source: arXiv 2110.13373. Confidence: abstract (reconstructed).
    """

    weight: float = 0.01
    gamma: float = 1.0
    memory: int = 1

    @hookimpl
    def start(self) -> None:
        """Nothing is remembered yet."""
        self.past: list[Batch] = []

    @hookimpl(wrapper=True)
    def augment(self) -> Generator[None, Batch, Batch]:
        """The batch, with the rows of the last steps under prompts of their own."""
        batch = yield
        if not self.memory:
            return batch
        fresh, rows = batch, [batch]
        for earlier in self.past:
            beyond = int(max(max(part.prompt.max(), part.group_keys.max()) for part in rows)) + 1
            rows.append(earlier.replace(prompt=earlier.prompt + beyond, group_keys=earlier.group_keys + beyond))
        self.past = [one.replace(age=one.age + 1) for one in (fresh, *self.past)][: self.memory]
        return Batch.cat(rows)

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """The advantages below plus the entropy that lies ahead."""
        advantages = yield
        if not self.weight:
            return advantages
        if batch.entropy is None:
            msg = "entrpo(weight > 0) needs batch.entropy"
            raise PluginError(msg)
        ahead = discounted_returns(batch.entropy.detach(), batch.mask, self.gamma)
        return advantages + self.weight * ahead
