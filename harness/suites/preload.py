"""Imported once by the fork server, so that a worker starts in milliseconds. Nothing here may start a thread.

Threads do not survive a fork, and what they held stays held: a test counts them. (OpenBLAS and Arrow's allocator start
again by themselves.)
"""

from __future__ import annotations

import contextlib
import importlib

MODULES = (
    "torch", "torch._dynamo",  # the optimizers import it on their first step
    "harness.suites.worker", "harness.suites.trial", "harness.training.trial", "harness.policies.policy",
    "harness.evaluation", "harness.evaluation.model", "lm_eval.evaluator", "lm_eval.tasks", "lm_eval.api.model",
)  # fmt: skip
LAZY = ("AutoConfig", "AutoModelForCausalLM", "AutoTokenizer", "LlamaForCausalLM", "PreTrainedTokenizerFast")

for _name in MODULES:
    with contextlib.suppress(Exception):  # a broken import is reported by the trial that needs it
        importlib.import_module(_name)
with contextlib.suppress(Exception):
    _transformers = importlib.import_module("transformers")
    for _name in LAZY:
        getattr(_transformers, _name)
