"""A policy that answers lm-eval's generation tasks several times, while lm-eval asks them one answer at a time.

lm-eval's filters keep the first of repeated answers, so its own repeats say nothing about the others. Here the task's
filters and metrics run once a turn, over an answer of each turn.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from lm_eval.api.instance import Instance

from harness.evaluation.answers import Answer
from harness.evaluation.model import PolicyLM

__all__ = ["SampledLM"]

Key = tuple[str, int, int]


class SampledLM(PolicyLM):
    """Turn 0 gives the task's own answer, turn i the i-th of `samples` at `temperature`; all are generated at once.

    `answers[task]` collects every text that was given, each once.
    """

    def __init__(self, *arguments: Any, samples: int = 0, temperature: float = 1.0, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.turn = 0
        self.answers: dict[str, list[Answer]] = defaultdict(list)
        self._samples = samples
        self._options = {"do_sample": True, "temperature": temperature}
        self._drawn: dict[Key, list[Answer]] = {}

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """The answers of this turn."""
        if self.turn == 0:
            own = super().generate_until(requests)
            self._draw(list({_key(request): request for request in requests}.values()))
        else:
            own = [self._drawn[_key(request)][self.turn - 1] for request in requests]
        for request, answer in zip(requests, own, strict=True):
            assert isinstance(answer, Answer)
            self.answers[_key(request)[0]].append(answer)
        return own

    def _draw(self, requests: list[Instance]) -> None:
        asked = [instance for request in requests for instance in [self._sampling(request)] * self._samples]
        texts = iter(super().generate_until(asked))
        for request in requests:
            self._drawn[_key(request)] = [next(texts) for _ in range(self._samples)]  # type: ignore[misc]

    def _sampling(self, request: Instance) -> Instance:
        context, options = request.args[0], request.args[1]
        metadata = (request.task_name, request.doc_id, self._samples)
        asked = (context, {**options, **self._options})
        return Instance("generate_until", request.doc, asked, request.idx, metadata)


def _key(request: Instance) -> Key:
    return str(request.task_name), int(request.doc_id or 0), request.idx
