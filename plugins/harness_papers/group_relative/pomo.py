"""POMO: rollouts that start differently share their mean as the baseline."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2010.16011", base="reinforce", scope="group", experimental=True)
class POMO:
    """Completions of a prompt are forced to begin with different tokens, and the group's mean is the baseline.

    First tokens are drawn at temperature `heat`, G of them; the distinct ones, in the order drawn, are given to the G
    completions in turns and continued at the suite's temperature. A forced token does not train.
    A_i = R_i - mean_g(R);  token loss -A_i logp, sum over tokens, mean over completions.

    The paper forces every symmetric start of a problem (the nodes of a tour); distinct first tokens, as far as sampling
    finds them, are our reading for language. Drawing them is charged.
    Edge cases: a single start, or starts that end at once, is plain sampling; equal rewards give 0.
    Source: arXiv 2010.16011 and the authors' code; the form for language models is ours. Confidence: code
    (reconstructed for language).
    """

    heat: float = 2.0

    def __post_init__(self) -> None:
        """Refuse a temperature that cannot sample."""
        if not self.heat > 0:
            msg = f"pomo(heat={self.heat}): choose a positive temperature"
            raise PluginError(msg)

    @hookimpl
    def generate(self, sampler: Any, requests: Sequence[Any], state: Any) -> Any:
        """Draw starts, then continue them."""
        probes = [dataclasses.replace(r, max_tokens=min(r.max_tokens, 1), temperature=self.heat) for r in requests]
        drawn = sampler.generate(probes)
        stops = set(state.policy.stop_ids)
        starts: list[dict[int, float]] = [{} for _ in requests]
        firsts = drawn.completion_ids[:, :1].tolist(), drawn.logp[:, :1].tolist()
        for place, ids, logp in zip(drawn.index.tolist(), *firsts, strict=True):
            if ids and ids[0] not in stops:
                starts[place].setdefault(ids[0], logp[0])
        return sampler.generate(
            [part for request, found in zip(requests, starts, strict=True) for part in _spread(request, found)]
        )

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The distance from the shared mean."""
        return batch.groups.center(batch.reward)


def _spread(request: Any, starts: dict[int, float]) -> list[Any]:
    """The request's completions, one by one, each with a start in turn."""
    if not starts or request.prefix:
        return [request]
    known = list(starts.items())
    return [
        dataclasses.replace(
            request, n=1, first_rollout=request.first_rollout + turn, prefix=(token,), prefix_logp=(logp,),
            prefix_mask=(0.0,),
        )
        for turn in range(request.n)
        for token, logp in [known[turn % len(known)]]
    ]  # fmt: skip
