"""Information-consistency: rich completions, equally rich whatever the wording of the question."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness_papers.paraphrases import split_request, with_wordings, wording
from harness_papers.reward_columns import in_place

if TYPE_CHECKING:
    from harness import Batch

SPAN = 1e-6  # in nats: less is rounding


def token_information(batch: Batch) -> Tensor:
    """[N] entropy in nats of the frequencies of a completion's tokens; 0 for an empty one."""
    if not batch.tokens:
        return torch.zeros_like(batch.reward)
    inside = torch.arange(batch.tokens, device=batch.device) < batch.lengths[:, None]
    rows = torch.arange(len(batch), device=batch.device)[:, None].expand_as(batch.completion_ids)
    same = Groups(torch.stack([rows, torch.where(inside, batch.completion_ids, -1)], -1).reshape(-1, 2))
    often = same.count().reshape(batch.completion_ids.shape).to(batch.rewards.dtype)
    size = batch.lengths.clamp_min(1).to(often.dtype)
    return torch.where(inside, (size[:, None] / often).log(), 0).sum(1) / size


@method(name="info-consistency", paper="2512.12858", base="grpo(beta=0)", experimental=True)
class InfoConsistency:
    """A completion earns by how much information it has, and by having as much as its twin under another wording.

    R_i = alpha (H_i - H_min) / (H_max - H_min) + beta (1 - |H_i - H_twin| / most), H the entropy of the completion's
    token frequencies, min and max over the prompt, in place of the task's columns. The wordings of a prompt are one
    group.

    The twin is the completion of the same number under the other wording; with more than two, the mean of the
    others of this number. gap: "mean" is the paper's, the mean of all gaps of the prompt, which is the same for the
    whole group, so that it cancels in a centred advantage. The group's completions are shared out over up to `wordings`
    wordings; words are tokens here. alpha, beta and most are ours. Neither term looks at the content.
    Edge cases: H_max = H_min: the first term is 0; no twin: no gap.
    Source: arXiv 2512.12858, the abstract and a note. Confidence: secondary.
    """

    alpha: float = 0.5
    beta: float = 0.5
    most: float = 2.0
    wordings: int = 2
    gap: Literal["twin", "mean"] = "twin"

    @hookimpl(wrapper=True)
    def allocate_rollouts(self, state: Any) -> Generator[None, Sequence[Any], Sequence[Any]]:
        """Every request in several wordings."""
        requests = yield
        return [part for request in requests for part in split_request(request, state, self.wordings)]

    @hookimpl(wrapper=True)
    def generate(self) -> Generator[None, Any, Any]:
        """Which wording a completion answers."""
        return with_wordings((yield))

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """Information and consistency."""
        batch = yield
        information, prompts = token_information(batch), Groups(batch.prompt)
        least = prompts.min(information)
        span = prompts.max(information) - least
        apart_enough = span > SPAN
        rich = torch.where(apart_enough, (information - least) / torch.where(apart_enough, span, 1), 0)
        apart = self.gaps(batch, information)
        if self.gap == "mean":
            apart = prompts.mean(apart)
        return in_place(batch, "consistent", self.alpha * rich + self.beta * (1 - apart / self.most))

    @staticmethod
    def gaps(batch: Batch, information: Tensor) -> Tensor:
        """[N] how far a completion is from its twins."""
        each = Groups(torch.stack([batch.prompt, wording(batch)], 1))
        number = each.rank(batch.rollout.to(information.dtype))
        twins = Groups(torch.stack([batch.prompt, number], 1))
        return (information - twins.leave_one_out_mean(information)).abs()
