"""The statistics of a board: pure functions of arrays, no files, no plots, no global random state.

The experimental unit is a seed: each is reduced to one number before anything is inferred, so items and tasks never
pose as replications. Methods share seeds (common random numbers), so differences are taken within a seed.
NaN marks a trial that is missing; every function says what it does with it. `docs/statistics.md` explains them in plain
words and tells how often the intervals hold.
"""

from harness.leaderboard.statistics.bootstrap import bootstrap_interval, mean_over_seeds
from harness.leaderboard.statistics.budget import (
    Survival,
    area_under_curve,
    budget_to_target,
    kaplan_meier,
    restricted_mean,
)
from harness.leaderboard.statistics.collapse import collapsed, pooled_spread
from harness.leaderboard.statistics.intervals import (
    Array,
    Interval,
    interquartile_mean,
    moments,
    per_seed,
    t_interval,
    t_limits,
)
from harness.leaderboard.statistics.items import clustered_error, evaluation_error, item_differences, two_way_interval
from harness.leaderboard.statistics.paired import (
    SIGN_FLIP_DRAWS,
    SIGN_FLIP_EXACT,
    holm,
    least_seeds,
    paired_p,
    paired_p_values,
    paired_values,
    probability_of_improvement,
    sign_flip_p,
)
from harness.leaderboard.statistics.power import (
    detectable_by_items,
    deviation_limits,
    minimum_detectable_effect,
    paired_power,
    seeds_needed,
    seeds_range,
)
from harness.leaderboard.statistics.profiles import budget_profile, budget_ratios, profile_area, score_profile
from harness.leaderboard.statistics.ranks import letters, pairwise_p, rank_range
from harness.leaderboard.statistics.samples import avg_at_k, pass_at_k

__all__ = [
    "SIGN_FLIP_DRAWS", "SIGN_FLIP_EXACT", "Array", "Interval", "Survival", "area_under_curve", "avg_at_k",
    "bootstrap_interval", "budget_profile", "budget_ratios", "budget_to_target", "clustered_error", "collapsed",
    "detectable_by_items", "deviation_limits", "evaluation_error", "holm", "interquartile_mean", "item_differences",
    "kaplan_meier", "least_seeds", "letters", "mean_over_seeds", "minimum_detectable_effect", "moments", "paired_p",
    "paired_p_values", "paired_power", "paired_values", "pairwise_p", "pass_at_k", "per_seed", "pooled_spread",
    "probability_of_improvement", "profile_area", "rank_range", "restricted_mean", "score_profile", "seeds_needed",
    "seeds_range", "sign_flip_p", "t_interval", "t_limits", "two_way_interval",
]  # fmt: skip
