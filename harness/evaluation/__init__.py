"""The bridge to lm-eval: a policy as its model, our tasks as its task files, one call for all that a trial reports."""

from harness.evaluation.bundled import evaluate
from harness.evaluation.report import EvalReport, pass_at_k

__all__ = ["EvalReport", "evaluate", "pass_at_k"]
