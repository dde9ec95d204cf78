"""Claims of methods that treat tokens of one completion differently."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.claims import Evidence, claim
from harness.probe import token_loss
from harness_papers.claims.measuring import Array, softmax

__all__ = [
    "dear_tokens_are_leashed",
    "dear_tokens_are_left_out",
    "future_decides",
    "sharp_tokens_are_damped",
]  # fmt: skip

TOKENS, VOCABULARY = (40, 100), 8


def sampled(seed: int = 0) -> tuple[Array, np.ndarray, Array]:
    """(distributions [40, 100, 8], the token that was drawn in each [40, 100], advantages [40])."""
    rng = np.random.default_rng(seed)
    chances = softmax(2 * rng.standard_normal((*TOKENS, VOCABULARY)))
    drawn = (chances.cumsum(-1) > rng.random((*TOKENS, 1))).argmax(-1)
    return chances, drawn, rng.standard_normal(40)


def entropy_change(chances: Array, drawn: np.ndarray, push: Array) -> Array:
    """[40, 100] first-order change of every distribution's entropy by pushes of the drawn tokens' log-probabilities."""
    logp = np.log(chances)
    entropy = -(chances * logp).sum(-1, keepdims=True)
    by_logit = -chances * (logp + entropy)
    moved = push[..., None] * (np.eye(VOCABULARY)[drawn] - chances)
    return np.asarray((by_logit * moved).sum(-1))


def dear(method: str, drift: float) -> Evidence:
    """Entropy change of a step with a method and without, and how many tokens it changes."""
    chances, drawn, gain = sampled()
    old = np.take_along_axis(np.log(chances), drawn[..., None], -1)[..., 0]
    logp = old + drift * gain[:, None]
    fields: dict[str, Any] = {
        "logp": logp,
        "logp_old": old,
        "advantages": gain,
        "mask": np.ones(TOKENS),
        "group": np.arange(40),
    }
    plain = -token_loss("grpo(beta=0)", **fields)[1]
    ours = -token_loss(method, **fields)[1]
    touched = ours != plain
    change = entropy_change(chances, drawn, ours - plain)
    average = abs(entropy_change(chances, drawn, plain)).mean()
    numbers = {"share of tokens changed": float(touched.mean()), "entropy kept by them": float(change.sum())}
    numbers["a changed token over the average one"] = float(change[touched].mean() / average)
    return Evidence(numbers["share of tokens changed"] < 0.001 and numbers["entropy kept by them"] > 0, numbers)


ENTROPY = "Fewer than one token in a thousand is treated differently, and a step loses less entropy for it."


@claim("clip-cov", ENTROPY)
def dear_tokens_are_left_out() -> Evidence:
    """4000 tokens with distributions of their own; first-order change of the entropy, on-policy."""
    return dear("clip-cov", 0.0)


@claim("kl-cov", ENTROPY)
def dear_tokens_are_leashed() -> Evidence:
    """4000 tokens with distributions of their own, a little way along their advantages, where the leash pulls."""
    return dear("kl-cov", 0.02)


@claim("fipo", "Tokens of one completion get different credit, more where their future has become likelier.")
def future_decides() -> Evidence:
    """50 completions of 40 tokens, log-ratios with standard deviation 0.05: spread of the weights, correlation."""
    rng = np.random.default_rng(0)
    moved = rng.normal(0, 0.05, (50, 40))
    fields: dict[str, Any] = {
        "logp": moved,
        "logp_old": 0 * moved,
        "mask": 0 * moved + 1,
        "advantages": [1.0] * 50,
        "group": np.arange(50),
    }
    ours, base = (token_loss(text, **fields)[1] for text in ("fipo", "dapo"))
    kept = base != 0
    weight = np.where(kept, ours / np.where(kept, base, 1), np.nan)
    future = moved[:, ::-1].cumsum(1)[:, ::-1]
    agree = [np.corrcoef(weight[i, kept[i]], future[i, kept[i]])[0, 1] for i in range(50) if np.nanstd(weight[i]) > 0]
    numbers = {"spread of weights within a completion": float(np.nanmean(np.nanstd(weight, 1)))}
    numbers["correlation with the sum of log-ratios ahead"] = float(np.mean(agree))
    return Evidence(min(numbers.values()) > 0, numbers, "Weights are between 1 and 1.2.")


@claim("grpo-sg", "Gradient norms of tokens vary less, as unlikely tokens, whose norms are large, weigh less.")
def sharp_tokens_are_damped() -> Evidence:
    """Norm of the gradient with respect to the logits of 4000 tokens: std over mean, largest over mean."""
    chances, drawn, gain = sampled()
    old = np.take_along_axis(np.log(chances), drawn[..., None], -1)[..., 0]
    fields: dict[str, Any] = {"logp": old, "logp_old": old, "mask": np.ones(TOKENS), "group": np.arange(40)}
    score = np.linalg.norm(np.eye(VOCABULARY)[drawn] - chances, axis=-1)
    numbers: dict[str, float] = {}
    for text in ("grpo-sg", "grpo(beta=0)"):
        norm = abs(token_loss(text, advantages=np.sign(gain), **fields)[1]) * score
        numbers |= {
            f"variation, {text}": float(norm.std() / norm.mean()),
            f"largest over mean, {text}": float(norm.max() / norm.mean()),
        }
    shown = all(
        numbers[f"{what}, grpo-sg"] < numbers[f"{what}, grpo(beta=0)"] for what in ("variation", "largest over mean")
    )
    return Evidence(shown, numbers, "The constants of the weight are the plugin's own.")
