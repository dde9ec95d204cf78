"""The process behind `harness.tasks.gym`: draws problems of a reasoning-gym generator and scores answers to them.

Some of its scorers hand the answer to `eval` or to sympy, which here take values and formulas only; some raise on junk;
and it draws from Python's global generator.
"""

from __future__ import annotations

import functools
import json
import logging
import sys
from collections.abc import Callable
from typing import Any

from harness.errors import HarnessError, nearest
from harness.tasks.plain_eval import guard_builtin_eval, guard_sympy
from harness.tasks.worker import serve

__all__ = ["prepare"]

RIGHT = 0.99  # a scorer's mark for a right answer; many give a little for junk
JUNK = ("zzz", "")  # answers that must not be right


def prepare(name: str, seed: int, size: int, config: dict[str, Any]) -> Callable[[Any], Any]:
    """The function that answers `["draw", from, to]` with rows (question, answer, whether its scorer is sound), and
    `["score", index, text]` with a number from 0 to 1. Raises HarnessError for what cannot be drawn.
    """
    logging.disable(logging.CRITICAL)
    try:
        import reasoning_gym
        from reasoning_gym.factory import DATASETS
    except ImportError:
        raise HarnessError("reasoning-gym is not installed; pip install 'policy-harness[reasoning-gym]'") from None
    guard_sympy()
    guard_builtin_eval("reasoning_gym")
    if name not in DATASETS:
        raise HarnessError(f"reasoning-gym has no generator {name!r}.{nearest(name, DATASETS)}")
    try:
        data = reasoning_gym.create_dataset(name, seed=seed, size=size, **config)
    except Exception as error:
        said = " ".join(str(error).split())[:160]
        raise HarnessError(f"reasoning-gym's {name} does not take {config}: {said}") from error
    entry = functools.lru_cache(maxsize=8192)(data.__getitem__)

    def score(index: int, text: Any) -> float:
        try:
            return min(max(float(data.score_answer(answer=text, entry=entry(index))), 0.0), 1.0)
        except Exception:  # noqa: BLE001
            return 0.0

    def row(index: int) -> tuple[str, str, bool]:
        found = entry(index)
        sound = score(index, found["answer"]) >= RIGHT and all(score(index, junk) < RIGHT for junk in JUNK)
        return str(found["question"]), str(found["answer"]), sound

    def answer(question: list[Any]) -> Any:
        what, *rest = question
        return [row(index) for index in range(*rest)] if what == "draw" else score(*rest)

    return answer


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    serve(lambda: prepare(**given))
