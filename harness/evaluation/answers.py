"""A completion as lm-eval gets it: a text that remembers how long it was, up to where a stop text ends it."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Answer", "stopped"]


class Answer(str):
    """A completion's text that remembers how long it was, in tokens, and whether the limit cut it."""

    __slots__ = ("tokens", "truncated")

    tokens: int
    truncated: bool

    @classmethod
    def of(cls, text: str, tokens: int, truncated: bool) -> Answer:
        """A text with what is to be remembered of it."""
        answer = cls(text)
        answer.tokens = tokens
        answer.truncated = truncated
        return answer


def stopped(answer: Answer, until: Sequence[str]) -> Answer:
    """The answer up to the first stop text; one that was found means that the limit did not cut it."""
    found = [at for stop in until if stop and (at := answer.find(stop)) >= 0]
    return Answer.of(answer[: min(found)], answer.tokens, False) if found else answer
