"""After a push of weights: an engine must answer with the new ones, not with those that it had before.

A push may succeed and change nothing: an adapter that was not merged, files that an engine had cached, another
directory. Training goes on, and what it samples looks like the samples of a policy that learns slowly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.engines.base import Engine, Job
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.policies.policy import Policy

__all__ = ["Arrivals"]

TEMPERATURE, COMPLETIONS, TOKENS = 2.0, 4, 8  # of the texts whose beginnings are the probes: where tokens are uncertain
SEEN = 1e-4  # nats: what the policy must move by for any judgement
STILL = (
    0.1  # times the distance of both before: the same, where the engine did not move in any bit (bfloat16 is coarse)
)
GAPS = 3.0  # and where it moved, so that precision does not decide


@dataclass(frozen=True)
class _Reading:
    """Of every probe [M] the engine's likeliest token, its log-probability there, and the policy's."""

    ids: Tensor
    said: Tensor
    scored: Tensor


class Arrivals:
    """Probes of one engine: the likeliest next token behind each of some texts, with its log-probability.

    Made while the engine has the policy's weights. `check` after a push compares with the last reading that showed new
    weights, and with the one since which the engine's answers are the same: steps too small to be seen add up.
    """

    def __init__(self, policy: Policy, engine: Engine) -> None:
        start = tuple(policy.encode_prompt("1 + 1 ="))
        jobs = [Job(start, TOKENS, TEMPERATURE, greedy=False, seed=number) for number in range(COMPLETIONS)]
        texts = [answer.ids[:-1] for answer in engine.write(jobs, policy.stop_ids)]
        self.contexts = list(dict.fromkeys((*start, *text[:size]) for text in texts for size in range(len(text) + 1)))
        self.before = self.changed = self._read(policy, engine)

    def check(self, policy: Policy, engine: Engine) -> None:
        """HarnessError, in one line, where the policy moved and the engine did not follow.

        It did not if its answers are the same to the bit since a reading from which the policy has moved, or lie nearer
        to the policy's of before than to those of now. What counts as moved depends on how far both lie apart anyway.
        """
        new, gap = self._read(policy, engine), _size(self.before.said - self.before.scored)
        if torch.equal(new.ids, self.changed.ids) and torch.equal(new.said, self.changed.said):
            self._judge(self.changed, new, max(SEEN, STILL * gap), still=True)
            return
        self.changed = new
        self._judge(self.before, new, max(SEEN, GAPS * gap), still=False)

    def _judge(self, old: _Reading, new: _Reading, least: float, *, still: bool) -> None:
        """Compare two readings where the policy moved by more than `least`; then the newer one is what comes before."""
        same = old.ids == new.ids
        if 2 * int(same.sum()) <= len(same):  # most likeliest tokens are others: it has moved
            self.before = new
            return
        moved = _size((new.scored - old.scored)[same])
        if not moved > least:
            return
        if still or _size((new.said - old.scored)[same]) < _size((new.said - new.scored)[same]):
            followed = _size((new.said - old.said)[same])
            raise HarnessError(
                f"new weights do not reach the engine: on {int(same.sum())} probes the policy's log-probabilities "
                f"moved by {moved:.2g} nats, the engine's by {followed:.2g}; does it load the files that it is given?"
            )
        self.before = new

    def _read(self, policy: Policy, engine: Engine) -> _Reading:
        jobs = [Job(context, 1, 1.0, greedy=True, seed=0) for context in self.contexts]
        answers = engine.write(jobs, policy.stop_ids)
        ids = torch.tensor([answer.ids[0] for answer in answers])
        said = torch.tensor([answer.logp[0] for answer in answers], dtype=torch.float64)
        scored = policy.score(self.contexts, ids[:, None].tolist())[:, 0]
        return _Reading(ids, said, scored.to("cpu", torch.float64))


def _size(difference: Tensor) -> float:
    """The root of the mean square."""
    return float(difference.square().mean().sqrt())
