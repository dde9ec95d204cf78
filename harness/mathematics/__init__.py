"""Formulas that more than one method needs, each once: surrogates, KL estimators, loss weights, returns.

Pure functions of tensors. N completions, T tokens; a mask [N, T] is 1 where a token counts. Values at masked tokens
never matter. Losses are minimised. A module a topic; everything is imported from here.
"""

from harness.mathematics.groupwise import all_pairs_square, group_average, log_mean_exp, log_sum_exp
from harness.mathematics.hypervolume import hypervolume
from harness.mathematics.kl import KLKind, adapted_coefficient, kl_estimate
from harness.mathematics.lengths import cosine_between, relative_brevity, soft_overlong
from harness.mathematics.masks import masked, only_scored
from harness.mathematics.ngrams import ngram_embedding, repeated_share
from harness.mathematics.pairs import Pairs, pairs_within
from harness.mathematics.passk import best_without, choose, subset_best
from harness.mathematics.ranks import dense_rank, mean_rank, table
from harness.mathematics.ratios import Level, importance_weights, log_gap, mean_one, per_row
from harness.mathematics.returns import discounted_returns, gae, reverse_scan
from harness.mathematics.scaling import leave_one_out_standardize, whiten
from harness.mathematics.singles import Single, check_single, with_singles
from harness.mathematics.surrogates import ppo_clip_loss, sequence_log_ratio
from harness.mathematics.trust import (
    Divergence,
    binary_divergence,
    moment_bound,
    moment_keep,
    quadratic_penalty_loss,
    ratio_band,
)
from harness.mathematics.weights import (
    constant_weights,
    sequence_mean_weights,
    sequence_sum_weights,
    token_mean_weights,
)

__all__ = [
    "Divergence", "KLKind", "Level", "Pairs", "Single", "adapted_coefficient", "all_pairs_square",
    "best_without", "binary_divergence", "check_single", "choose", "constant_weights", "cosine_between", "dense_rank",
    "discounted_returns", "gae", "group_average", "hypervolume", "importance_weights", "kl_estimate",
    "leave_one_out_standardize", "log_gap", "log_mean_exp", "log_sum_exp", "masked", "mean_one", "mean_rank",
    "moment_bound", "moment_keep", "ngram_embedding", "only_scored", "pairs_within", "per_row", "ppo_clip_loss",
    "quadratic_penalty_loss", "ratio_band", "relative_brevity", "repeated_share", "reverse_scan",
    "sequence_log_ratio", "sequence_mean_weights", "sequence_sum_weights", "soft_overlong", "subset_best", "table",
    "token_mean_weights", "whiten", "with_singles",
]  # fmt: skip
