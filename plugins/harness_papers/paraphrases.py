"""Other wordings of a problem with the same answer, and groups whose completions answer several of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness.tasks.math import prompt_of

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["TEMPLATES", "split_request", "with_wordings", "wording", "wordings"]

TEMPLATES = ("{prompt}", "Question: {prompt}", "Solve this. {prompt}", "Please answer. {prompt}")


def wordings(problem: Any, count: int) -> list[str]:
    """Up to `count` prompts that ask the same, the problem's own first.

    Terms of a sum and examples of a function change places; other prompts go through `TEMPLATES`.
    """
    terms = problem.data.get("terms") if problem.data else None
    if terms is not None:
        turned = [tuple(terms[i:]) + tuple(terms[:i]) for i in range(len(terms))]
        texts = [prompt_of(turn) for turn in turned if turn[0] >= 0]
    elif problem.prompt.endswith(">") and "," in problem.prompt:
        examples = problem.prompt[:-1].split(",")
        texts = [",".join([*examples[i:], *examples[:i]]) + ">" for i in range(len(examples))]
    else:
        texts = [template.format(prompt=problem.prompt) for template in TEMPLATES]
    return list(dict.fromkeys([problem.prompt, *texts]))[:count]


def split_request(request: Any, state: Any, count: int) -> list[Any]:
    """A request as several, one a wording, as equal in number of completions as can be."""
    texts = wordings(state.pool.problem(request.key), min(count, request.n))
    shares = (
        [request.n // len(texts) + (place < request.n % len(texts)) for place in range(len(texts))] if texts else []
    )
    return [
        dataclasses.replace(request, n=share, prompt_ids=state.request(request.key, text=text).prompt_ids)
        for text, share in zip(texts, shares, strict=True)
    ] or [request]


def with_wordings(rollouts: Any) -> Any:
    """The rollouts with `extras["wording"]` int64 [M]: which of its prompt's requests a completion answers."""
    numbers: dict[str, dict[Sequence[int], int]] = {}
    found = []
    for request in rollouts.requests:
        known = numbers.setdefault(request.key, {})
        found.append(known.setdefault(request.prompt_ids, len(known)))
    place = torch.tensor(found, dtype=torch.long, device=rollouts.mask.device)[rollouts.index]
    return rollouts.replace(extras={**rollouts.extras, "wording": place})


def wording(batch: Batch) -> Tensor:
    """[N] int64; 0 for everyone where there is only one."""
    return batch.extras.get("wording", torch.zeros_like(batch.prompt))
