"""Formulas that more than one method needs, each once: surrogates, KL estimators, loss weights, returns.

Pure functions of tensors. N completions, T tokens; a mask [N, T] is 1 where a token counts. Values at masked tokens
never matter. Losses are minimised. A module a topic; everything is imported from here.
"""

from harness.mathematics.kl import KLKind, kl_estimate
from harness.mathematics.masks import masked
from harness.mathematics.returns import discounted_returns, gae, reverse_scan
from harness.mathematics.scaling import leave_one_out_standardize, whiten
from harness.mathematics.singles import Single, check_single, with_singles
from harness.mathematics.surrogates import ppo_clip_loss, sequence_log_ratio
from harness.mathematics.weights import (
    constant_weights,
    sequence_mean_weights,
    sequence_sum_weights,
    token_mean_weights,
)

__all__ = [
    "KLKind", "Single", "check_single", "constant_weights", "discounted_returns", "gae", "kl_estimate",
    "leave_one_out_standardize", "masked", "ppo_clip_loss", "reverse_scan", "sequence_log_ratio", "sequence_mean_weights", "sequence_sum_weights",
    "token_mean_weights", "whiten", "with_singles",
]  # fmt: skip
