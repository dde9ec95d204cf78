"""APO of A2FM: forced direct answers measure whether a prompt is easy; reasoning on easy prompts earns less."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.modes import reasons, with_modes
from harness_papers.reward_columns import in_place, verdict

if TYPE_CHECKING:
    from harness import Batch


@method(name="apo-adaptive-mode", paper="2510.12838", base="grpo(beta=0)", scope="group", experimental=True)
class APO:
    """Some rollouts must answer at once; the more of them are right, the less a rollout earns that chose to reason.

    R_i = correct_i * format_i * adapt_i, in place of the task's columns;  adapt = 1 for direct answers, 1 - p^alpha for
    those that reason, p the share of right ones among the group's `forced` direct completions.

    The forced ones begin with the text `instant`, whose tokens do not train; all form one group. A completion that
    begins with the first character of `instant` is direct. The paper has a third mode with tools, and forces each of
    them; one turn has two, and only the cheap one has a text that begins it. form: a column that must reach 1/2, where
    the tasks have it. The product of the three is ours.
    Edge cases: p = 0, or nobody forced, costs nothing; p = 1: reasoning earns 0. Groups keep one free completion.
    Source: arXiv 2510.12838 by way of a note. Confidence: secondary (combination reconstructed).
    """

    alpha: float = 2.0
    forced: int = 2
    instant: str = "#"
    form: str = "format"

    @hookimpl(wrapper=True)
    def allocate_rollouts(self, state: Any) -> Generator[None, Sequence[Any], Sequence[Any]]:
        """Every request as two: completions that must answer at once, and free ones."""
        requests = yield
        ids = tuple(state.policy.encode(self.instant))
        return [part for request in requests for part in self.split(request, ids)]

    def split(self, request: Any, ids: tuple[int, ...]) -> list[Any]:
        """The free and the forced part of a request; all free if it has a prefix already, or no room for one."""
        number = min(self.forced, request.n - 1)
        if number < 1 or request.prefix or not ids or len(ids) >= request.max_tokens:
            return [request]
        blank = (0.0,) * len(ids)
        must = dataclasses.replace(request, n=number, prefix=ids, prefix_logp=blank, prefix_mask=blank)
        return [dataclasses.replace(request, n=request.n - number), must]

    @hookimpl(wrapper=True)
    def generate(self) -> Generator[None, Any, Any]:
        """Which completions reason, and which had no choice."""
        rollouts = with_modes((yield), self.instant[:1])
        must = torch.tensor([bool(r.prefix) for r in rollouts.requests], device=rollouts.mask.device)
        return rollouts.replace(extras={**rollouts.extras, "forced": must[rollouts.index]})

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The product."""
        batch = yield
        reward = verdict(batch) * self.adapt(batch)
        if self.form in batch.reward_names:
            form = batch.rewards[:, batch.reward_names.index(self.form)].nan_to_num(1)
            reward = reward * (form >= 0.5)
        return in_place(batch, "adaptive", reward)

    def adapt(self, batch: Batch) -> Tensor:
        """[N] what the choice of the mode leaves."""
        must = batch.extras.get("forced", torch.zeros_like(batch.correct))
        easy = batch.groups.mean(verdict(batch), must)
        return torch.where(reasons(batch) & ~must, 1 - easy**self.alpha, 1)
