"""lm-eval without its side effects: random states, log lines and progress bars stay as they were."""

from __future__ import annotations

import contextlib
import functools
import logging
import random
from collections.abc import Iterator
from unittest import mock

__all__ = ["preserved_random_states", "silent"]


@contextlib.contextmanager
def preserved_random_states() -> Iterator[None]:
    """Put the global generators of Python, numpy and torch back as they were, whatever happens inside."""
    import numpy as np
    import torch

    python, numpy, cpu = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else []
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        torch.set_rng_state(cpu)
        if devices:
            torch.cuda.set_rng_state_all(devices)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """No log lines below errors and no progress bars from lm-eval."""
    import lm_eval.api.task

    logger = logging.getLogger("lm_eval")
    level = logger.level
    logger.setLevel(logging.ERROR)
    bars = functools.partial(lm_eval.api.task.tqdm, disable=True)
    try:
        with mock.patch.object(lm_eval.api.task, "tqdm", bars):
            yield
    finally:
        logger.setLevel(level)
