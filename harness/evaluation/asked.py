"""What lm-eval asks, in pieces that the sampler takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lm_eval.api.instance import Instance

__all__ = ["chunks", "runs"]


def runs(requests: Sequence[Instance]) -> Iterator[tuple[Instance, int]]:
    """Each distinct request with how often it stands in a row: lm-eval repeats the object itself."""
    at = 0
    while at < len(requests):
        end = at
        while end < len(requests) and requests[end] is requests[at]:
            end += 1
        yield requests[at], end - at
        at = end


def chunks(asked: Sequence[tuple[Instance, int]], batch: int) -> Iterator[list[tuple[Instance, int]]]:
    """Requests with their counts, as many at a time as make at most `batch` completions."""
    chunk: list[tuple[Instance, int]] = []
    rows = 0
    for instance, count in asked:
        if chunk and rows + count > batch:
            yield chunk
            chunk, rows = [], 0
        chunk.append((instance, count))
        rows += count
    if chunk:
        yield chunk
