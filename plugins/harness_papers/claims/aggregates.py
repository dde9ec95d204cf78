"""Claims of the ways in which token losses become one number."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.claims import Evidence, claim
from harness.probe import objective, weights
from harness_papers.claims.measuring import cosine, in_the_lab

__all__ = [
    "constant_has_no_length_bias", "delta_l_is_quiet", "delta_l_is_unbiased", "length_cancels_in_luspo",
    "sums_are_unbiased", "tokens_weigh_alike", "tokens_weigh_one_over_length", "totals_point_the_same_way",
]  # fmt: skip

MASK = (np.arange(100) < np.array([[10], [100]])).astype(float)


def long_over_short(method: str) -> float:
    """Weight of a token of a completion of 100 tokens over that of one of 10."""
    found = weights(method, MASK, max_tokens=100)
    return float(found[1, 0] / found[0, 0])


@claim("token-mean", "A long completion gets its full share of the gradient: its tokens weigh as much as others.")
def tokens_weigh_alike() -> Evidence:
    """Tokens of 100 and 10 tokens' completions."""
    numbers = {text: long_over_short(text) for text in ("token-mean", "seq-mean-token-mean")}
    return Evidence(numbers["token-mean"] == 1 > numbers["seq-mean-token-mean"], numbers)


@claim("seq-mean-token-mean", "A token weighs one over the length of its completion, the length bias of GRPO.")
def tokens_weigh_one_over_length() -> Evidence:
    """Tokens of 100 and 10 tokens' completions, and the lab's bias beside that of sums, with RLOO's advantages."""
    numbers = {"long over short": long_over_short("seq-mean-token-mean")}
    for text in ("rloo(beta=0)+seq-mean-token-mean", "rloo(beta=0)+seq-mean-token-sum"):
        numbers[f"bias, {text}"] = in_the_lab(text, batches=100)["bias"]
    return Evidence(abs(numbers["long over short"] - 0.1) < 1e-9, numbers)


@claim("seq-mean-token-sum", "The gradient of a reward for the whole completion is unbiased, up to its scale.")
def sums_are_unbiased() -> Evidence:
    """The lab's language with RLOO's advantages; a bias below 0.1 is what its batches resolve."""
    texts = ("seq-mean-token-sum", "seq-mean-token-mean", "token-mean")
    numbers = {text: in_the_lab(f"rloo(beta=0)+{text}", batches=100)["bias"] for text in texts}
    return Evidence(numbers["seq-mean-token-sum"] < 0.1, numbers, "Bias of the direction.")


@claim("seq-mean-token-sum-norm", "Dividing by a constant removes the bias by length.")
def constant_has_no_length_bias() -> Evidence:
    """The lab's language with RLOO's advantages; a bias below 0.1 is what its batches resolve."""
    numbers = {"long over short": long_over_short("seq-mean-token-sum-norm")}
    for text in ("seq-mean-token-sum-norm", "seq-mean-token-mean"):
        numbers[f"bias, {text}"] = in_the_lab(f"rloo(beta=0)+{text}", batches=100)["bias"]
    ours, theirs = list(numbers.values())[1:]
    return Evidence(numbers["long over short"] == 1 and ours < 0.1 < theirs, numbers)


@claim(
    "token-sum",
    "Within a batch the direction is that of the token mean, so that an optimizer with a norm sees no difference.",
)
def totals_point_the_same_way() -> Evidence:
    """Random advantages on the two completions."""
    rng = np.random.default_rng(0)
    fields: dict[str, Any] = {
        "logp": MASK * 0,
        "logp_old": MASK * 0,
        "mask": MASK,
        "advantages": rng.standard_normal(2),
        "max_tokens": 100,
    }
    ours, mean, other = (objective(text, **fields)[1] for text in ("token-sum", "token-mean", "seq-mean-token-mean"))
    numbers = {"cosine with token-mean": cosine(ours, mean), "with seq-mean-token-mean": cosine(ours, other)}
    numbers["length over that of token-mean"] = float(np.linalg.norm(ours) / np.linalg.norm(mean))
    return Evidence(abs(numbers["cosine with token-mean"] - 1) < 1e-12, numbers)


@claim("luspo", "The preference of GSPO for short answers is gone: at ratio 1 a token weighs the same in every length.")
def length_cancels_in_luspo() -> Evidence:
    """Push on a token of 100 over one of 10 tokens, both with advantage 1."""
    fields: dict[str, Any] = {
        "logp": MASK * 0,
        "logp_old": MASK * 0,
        "mask": MASK,
        "advantages": [1.0, 1.0],
        "max_tokens": 100,
    }
    numbers: dict[str, float] = {}
    for text in ("luspo", "gspo"):
        _, gradient = objective(text, **fields)
        numbers[text] = float(gradient[1, 0] / gradient[0, 0])
    return Evidence(abs(numbers["luspo"] - 1) < 1e-9 and abs(numbers["gspo"] - 0.1) < 1e-9, numbers)


@claim(
    "delta-l",
    "Of the ways to average, this one has the least variance where a completion's noise grows with its length.",
)
def delta_l_is_quiet() -> Evidence:
    """The paper's model: every completion's gradient is the true one plus noise of variance T.

    16 batches of 32 lengths; variance of the weighted sum, weights as each way gives them, over the square of its mean.
    """
    rng = np.random.default_rng(0)
    lengths = np.exp(rng.uniform(np.log(5), np.log(200), (16, 32))).astype(int)
    numbers: dict[str, float] = {}
    for text in ("delta-l", "token-mean", "seq-mean-token-mean", "seq-mean-token-sum-norm"):
        noise = []
        for batch in lengths:
            mask = (np.arange(batch.max()) < batch[:, None]).astype(float)
            weight = weights(text, mask, max_tokens=200)[:, 0]
            noise.append(float((weight**2 * batch).sum() / weight.sum() ** 2))
        numbers[text] = float(np.mean(noise))
    return Evidence(
        numbers["delta-l"] <= min(numbers.values()) + 1e-12, numbers, "seq-mean-token-mean differs by a scale only."
    )


@claim("delta-l", "The gradient is unbiased.")
def delta_l_is_unbiased() -> Evidence:
    """The lab's language with RLOO's advantages, where what a completion should get depends on its length."""
    texts = ("delta-l", "seq-mean-token-sum-norm", "token-mean", "seq-mean-token-mean")
    numbers = {text: in_the_lab(f"rloo(beta=0)+{text}", batches=100)["bias"] for text in texts}
    note = (
        "The paper assumes a mean gradient that does not depend on the length; here it does. Below 0.1 is not resolved."
    )
    return Evidence(numbers["delta-l"] < 0.1, numbers, note)
