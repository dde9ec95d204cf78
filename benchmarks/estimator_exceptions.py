"""Methods whose estimator may cost more than the limit of `estimators.py`, and what it does that a z-score does not."""

__all__ = ["SLOWER"]

SLOWER: dict[str, str] = {
    "constrained-rewards": "sums log-ratios over tokens, and standardizes every column and the sum",
    "copo-consistency": "sorts answers into classes",
    "egsw": "averages entropies over tokens, and takes exponentials of all completions",
    "entrpo": "walks tokens: the entropy that lies ahead",
    "gigpo": "sorts the states before all tokens",
    "grpo-discounted": "walks tokens: discounted returns",
    "lens": "averages log-probabilities over tokens",
    "maxk": "sorts each group, and sums over subsets with binomials",
    "mupo": "pairs all members of a group by embeddings of 512 numbers",
    "parrot": "pairs all members of a group, in every column",
    "pkpo": "sorts each group twice, and sums over subsets with binomials",
    "polychromic": "sorts answers into classes, and takes binomials for every completion",
    "rdpo-decorrelated": "sorts each group in every column, and whitens with a matrix a completion",
    "reinforce-pp": "walks tokens: returns, whitened over all tokens",
    "reinforce-pp-baseline": "whitens over all tokens",
    "remax": "walks tokens: returns",
    "riskpo": "sorts completions into bundles of bundles",
    "rlrr-hybrid": "sorts all completions by length and reward, and each group by that",
    "rlrr-pure": "sorts all completions by length and reward, and each group by that",
    "stable-reinforce": "standardizes over all tokens",
    "subpo": "sorts answers into classes, and each class by reward",
    "tmn-reweight": "reads the task of every prompt, which are Python strings",
    "verpo": "pairs all columns of a group, and takes exponentials of the pairs",
    "vimpo": "walks tokens: returns of log-ratios, whitened over all tokens",
}
