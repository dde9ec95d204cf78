"""ParetoSlider: the policy is told how much each reward counts for this prompt, and is rewarded so."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch


@method(name="pareto-slider", paper="2604.20816", base="grpo(beta=0)", scope="group", experimental=True)
class ParetoSlider:
    """Every prompt draws a weight for each reward and says so to the policy; z-scores are mixed with these weights.

    w ~ uniform on the simplex, one for all completions of a prompt in a step;  A_i = sum_k w_k z_g(r_k)_i, z by std
    over n - 1, + eps. The prompt is asked by `template`, with the weights in percent.

    The paper conditions an image model by an embedding; text is the language model's way, and evaluation asks the plain
    prompt. The rewards are the columns with a weight, of which only the sign counts. An empty template tells the policy
    nothing. late: False mixes the rewards before one z-score, the paper's baseline. The paper's sampler is not known.
    Edge cases: constant columns add 0; without drawn weights (no sampling of its own) all count alike.
    Source: arXiv 2604.20816, the abstract and a summary. Confidence: abstract (reconstructed).
    """

    template: str = "{weights} {prompt}"
    late: bool = True
    eps: float = 1e-6

    @hookimpl
    def start(self, state: Any) -> None:
        """Which columns take part."""
        weights = {} if state.task is None else state.task.reward_weights
        self.names = tuple(name for name, weight in weights.items() if weight)
        self.drawn: dict[str, list[float]] = {}  # of this step, by prompt
        self.step = -1

    @hookimpl(wrapper=True)
    def allocate_rollouts(self, state: Any) -> Generator[None, Sequence[Any], Sequence[Any]]:
        """The requests below, each with weights of its prompt."""
        requests = yield
        if state.step != self.step:
            self.step, self.drawn = state.step, {}
        return [self._told(request, state) for request in requests]

    @hookimpl(wrapper=True)
    def generate(self) -> Generator[None, Any, Any]:
        """The weights [M, K] that each completion was asked with."""
        rollouts = yield
        alike = [1 / max(len(self.names), 1)] * len(self.names)
        table = rollouts.logp.new_tensor([self.drawn.get(request.key, alike) for request in rollouts.requests])
        return rollouts.replace(extras={**rollouts.extras, "told": table.reshape(len(table), -1)[rollouts.index]})

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The z-scores under the prompt's weights."""
        signed = batch.rewards * batch.reward_weights.sign()
        weights = self._weights(batch)
        if not self.late:
            return batch.groups.standardize((signed.nan_to_num() * weights).sum(1), eps=self.eps)
        return (batch.groups.standardize(signed, eps=self.eps) * weights).sum(1)

    def _told(self, request: Any, state: Any) -> Any:
        if request.key not in self.drawn:
            # Exponential numbers over their sum are uniform on the simplex.
            parts = -torch.rand(len(self.names), generator=state.generator, dtype=torch.float64).clamp_min(1e-12).log()
            self.drawn[request.key] = (parts / parts.sum().clamp_min(1e-12)).tolist()
        if not self.template:
            return request
        said = ",".join(f"{100 * weight:.0f}" for weight in self.drawn[request.key])
        text = self.template.format(weights=said, prompt=state.pool.problem(request.key).prompt)
        return dataclasses.replace(request, prompt_ids=state.request(request.key, text=text).prompt_ids)

    def _weights(self, batch: Batch) -> Tensor:
        """[N, K] of the batch's columns, 0 for those that take no part."""
        counted = (batch.reward_weights != 0).to(batch.rewards.dtype).expand_as(batch.rewards)
        told = batch.extras.get("told")
        if told is None:
            return counted / counted.sum(1, keepdim=True).clamp_min(1)
        places: Mapping[str, int] = {name: place for place, name in enumerate(self.names)}
        known = [
            told[:, places[name]] if name in places else torch.zeros_like(told[:, 0]) for name in batch.reward_names
        ]
        return torch.stack(known, 1).to(batch.rewards.dtype)
