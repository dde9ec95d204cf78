"""Claims of corrections for completions that another policy wrote."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.claims import Evidence, claim
from harness.probe import token_loss
from harness_papers.claims.measuring import in_the_lab, relative_error, softmax

__all__ = [
    "drift_is_not_followed",
    "geometric_means_do_not_see_length",
    "interpolation_stands_in",
    "long_ones_are_rejected_first",
    "masking_beside_truncation",
    "masking_both_sides",
    "masking_bounds_the_noise",
    "second_order_is_nearer",
    "staleness_is_corrected",
    "truncation_trades",
]  # fmt: skip

WORLDS, ARMS = 50, 20


def mismatch(method: str, distance: float, **fields: Any) -> tuple[float, float]:
    """(relative error of the expected gradient, its standard deviation) with samples of another policy.

    50 softmax policies of 20 arms; the sampler's logits are `distance` (a standard deviation) away. Errors and standard
    deviations are of gradients with respect to the logits, over the length of the true gradient, averaged.
    """
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((WORLDS, ARMS))
    learner, sampler = softmax(logits), softmax(logits + distance * rng.standard_normal((WORLDS, ARMS)))
    reward = (rng.random((WORLDS, ARMS)) < 0.3).astype(float)
    gain = reward - (learner * reward).sum(1, keepdims=True)
    given: dict[str, Any] = {"logp_old": np.log(learner), "logp_sampler": np.log(sampler), **fields}
    _, gradient = token_loss(
        method, logp=np.log(learner), advantages=gain, mask=np.ones_like(gain), group=np.arange(WORLDS), **given
    )
    pull = -gradient
    scores = np.eye(ARMS) - learner[:, None, :]
    mean = ((sampler * pull)[..., None] * scores).sum(1)
    square = (sampler * pull**2 * (scores**2).sum(-1)).sum(1) - (mean**2).sum(1)
    true = ((learner * gain)[..., None] * scores).sum(1)
    length = np.linalg.norm(true, axis=1)
    error = np.linalg.norm(mean - true, axis=1) / length
    return float(error.mean()), float((np.sqrt(square) / length).mean())


def trade(method: str, *, against: str = "no correction") -> tuple[dict[str, float], bool]:
    """Numbers of a method, no correction and the full importance weight; whether it has less bias than none."""
    texts = {
        "ours": method,
        "no correction": "grpo(beta=0)",
        "full weight": "grpo(beta=0)+tis(cap=1e9)",
        "tis": "grpo(beta=0)+tis",
    }
    if against != "tis":
        texts.pop("tis")
    numbers: dict[str, float] = {}
    for name, text in texts.items():
        numbers[f"bias, {name}"], numbers[f"noise, {name}"] = mismatch(text, 1.0)
    return numbers, numbers["bias, ours"] < numbers["bias, no correction"]


@claim("tis", "Truncated weights have less bias than no correction and less variance than full importance weights.")
def truncation_trades() -> Evidence:
    """A sampler whose logits are 1 (standard deviation) from the learner's."""
    numbers, less = trade("grpo(beta=0)+tis")
    return Evidence(less and numbers["noise, ours"] < numbers["noise, full weight"], numbers)


@claim("mis", "Masked weights have less bias than no correction and less variance than full importance weights.")
def masking_bounds_the_noise() -> Evidence:
    """Tokens are masked above a ratio of 3; the same sampler."""
    numbers, less = trade("grpo(beta=0)+mis(level='token')")
    return Evidence(less and numbers["noise, ours"] < numbers["noise, full weight"], numbers, "At the level of tokens.")


@claim("icepop", "Masking on both sides has less bias than no correction and less variance than full weights.")
def masking_both_sides() -> Evidence:
    """Ratios from .5 to 5; the same sampler."""
    numbers, less = trade("grpo(beta=0)+icepop")
    return Evidence(less and numbers["noise, ours"] < numbers["noise, full weight"], numbers)


@claim("icepop", "The gradient is less noisy than with truncated weights.")
def masking_beside_truncation() -> Evidence:
    """Ratios from .5 to 5 beside a cap of 2, the defaults; the same sampler."""
    numbers, _ = trade("grpo(beta=0)+icepop", against="tis")
    return Evidence(numbers["noise, ours"] < numbers["noise, tis"], numbers, "The paper compares whole runs.")


@claim("mis", "At the level of completions long ones are rejected first.")
def long_ones_are_rejected_first() -> Evidence:
    """Token log-ratios of mean 0 and standard deviation 0.2; 200 completions each of 10 and of 200 tokens."""
    numbers = _rejected("grpo(beta=0)+mis")
    return Evidence(numbers["200 tokens"] > numbers["10 tokens"], numbers, "Share of completions without gradient.")


@claim("geo-rs", "Rejection by the geometric mean does not fall on long completions first.")
def geometric_means_do_not_see_length() -> Evidence:
    """A mean log-ratio of .01 on every token, in completions of 10 and 100: kept alike, unlike with the product."""
    numbers: dict[str, float] = {}
    for name, text in (("geometric", "grpo(beta=0)+geo-rs(high=1.02)"), ("product", "grpo(beta=0)+mis(high=2.0)")):
        for tokens in (10, 100):
            zeros = np.zeros((1, tokens))
            _, gradient = token_loss(
                text, logp=zeros, logp_old=zeros, logp_sampler=zeros - 0.01, advantages=[1.0], mask=zeros + 1
            )
            numbers[f"kept, {name}, {tokens} tokens"] = float((gradient != 0).mean())
    note = "With noise around that mean short completions leave first: their means vary more."
    noisy = _rejected("grpo(beta=0)+geo-rs(low=0.98, high=1.02)")
    numbers |= {f"rejected with noise, {name}": value for name, value in noisy.items()}
    shown = numbers["kept, geometric, 10 tokens"] == numbers["kept, geometric, 100 tokens"] == 1
    return Evidence(shown and numbers["kept, product, 10 tokens"] > numbers["kept, product, 100 tokens"], numbers, note)


def _rejected(method: str) -> dict[str, float]:
    rng = np.random.default_rng(0)
    found: dict[str, float] = {}
    for tokens in (10, 200):
        zeros = np.zeros((200, tokens))
        _, gradient = token_loss(
            method, logp=zeros, logp_old=zeros, logp_sampler=rng.normal(0, 0.2, zeros.shape), advantages=[1.0] * 200,
            mask=zeros + 1, group=np.arange(200),
        )  # fmt: skip
        found[f"{tokens} tokens"] = float((gradient == 0).all(1).mean())
    return found


@claim("opsm", "With stale samples the direction is better than without the mask.")
def drift_is_not_followed() -> Evidence:
    """The lab's language, sampler 0.6 away: mean cosine of a batch's gradient with the true one."""
    numbers = {text: in_the_lab(text, batches=60, stale=0.6)["step"] for text in ("grpo(beta=0)+opsm", "grpo(beta=0)")}
    ours, theirs = numbers.values()
    return Evidence(ours > theirs, numbers, "The paper's claim is about the stability of whole runs.")


@claim(
    "decoupled-ppo",
    "At the start of a step stale samples bias the gradient less than when PPO clips around their policy.",
)
def staleness_is_corrected() -> Evidence:
    """The sampler's logits are .5 and 1 from the learner's, which is the proximal policy."""
    numbers: dict[str, float] = {}
    for distance in (0.5, 1.0):
        rng = np.random.default_rng(0)
        logits = rng.standard_normal((WORLDS, ARMS))
        sampler = np.log(softmax(logits + distance * rng.standard_normal((WORLDS, ARMS))))
        numbers[f"bias, decoupled, {distance}"], _ = mismatch("decoupled-ppo", distance)
        numbers[f"bias, PPO around the sampler, {distance}"], _ = mismatch("grpo(beta=0)", distance, logp_old=sampler)
    shown = all(numbers[f"bias, decoupled, {d}"] < numbers[f"bias, PPO around the sampler, {d}"] for d in (0.5, 1.0))
    return Evidence(shown, numbers)


@claim(
    "a3po",
    "The interpolated proximal policy gives the loss of a recomputed one, nearer than PPO around the sampler does.",
)
def interpolation_stands_in() -> Evidence:
    """Policies of 20 arms that move along a line with a bend for four steps: all gradients beside decoupled PPO's."""
    rng = np.random.default_rng(0)
    start, way, bend = rng.standard_normal((3, WORLDS, ARMS))
    path = [np.log(softmax(start + 0.3 * t * way + 0.1 * np.sin(t) * bend)) for t in range(5)]
    fields: dict[str, Any] = {
        "advantages": rng.standard_normal(start.shape),
        "mask": np.ones_like(start),
        "group": np.arange(WORLDS),
    }
    true = token_loss("decoupled-ppo", logp=path[4], logp_old=path[3], logp_sampler=path[0], **fields)[1]
    aged: dict[str, Any] = {"age": [4] * WORLDS, "logp_sampler": path[0]}
    ours = token_loss("a3po", logp=path[4], logp_old=path[0], **aged, **fields)[1]
    plain = token_loss("grpo(beta=0)", logp=path[4], logp_old=path[0], **fields)[1]
    numbers = {"error of a3po": relative_error(ours, true), "of PPO around the sampler": relative_error(plain, true)}
    numbers["tokens clipped otherwise, a3po"] = float(((ours == 0) != (true == 0)).mean())
    numbers["PPO around the sampler"] = float(((plain == 0) != (true == 0)).mean())
    return Evidence(numbers["error of a3po"] < numbers["of PPO around the sampler"], numbers)


@claim("taypo-2", "The second order brings the surrogate nearer to the true gain of a policy than the first alone.")
def second_order_is_nearer() -> Evidence:
    """Completions of three tokens out of two, all eight: mean absolute error of ten policies' gain."""
    rng, shapes = np.random.default_rng(0), ((2,), (2, 2), (2, 2, 2))
    errors: dict[str, list[float]] = {"second order": [], "first order": []}
    for _ in range(10):
        logits, reward = [rng.standard_normal(shape) for shape in shapes], rng.random((2, 2, 2))
        moved = [softmax(one + 0.4 * rng.standard_normal(one.shape)) for one in logits]
        old = [softmax(one) for one in logits]
        after = [(old[1] * (old[2] * reward).sum(-1)).sum(-1), (old[2] * reward).sum(-1), reward]  # Q of every token
        gain = (moved[0] * (moved[1] * (moved[2] * reward).sum(-1)).sum(-1)).sum() - old[0] @ after[0]
        value = [np.expand_dims((p * q).sum(-1), -1) for p, q in zip(old, after, strict=True)]
        whole = [[_of_all(x) for x in xs] for xs in (old, moved, [q - v for q, v in zip(after, value, strict=True)])]
        before, now, advantage = (np.stack(columns, 1) for columns in whole)
        fields: dict[str, Any] = {"logp": np.log(now), "logp_old": np.log(before), "advantages": advantage}
        for name, text in (("second order", "taypo-2"), ("first order", "taypo-2(second=0.0)")):
            losses, _ = token_loss(text, mask=np.ones((8, 3)), group=np.arange(8), **fields)
            errors[name].append(abs(-(before.prod(1) @ losses.sum(1)) - gain))
    numbers = {name: float(np.mean(found)) for name, found in errors.items()}
    return Evidence(numbers["second order"] < numbers["first order"], numbers)


def _of_all(table: np.ndarray) -> np.ndarray:
    """[8] the entries of a table [2], [2, 2] or [2, 2, 2] by prefix, for all completions."""
    return np.repeat(table.ravel(), 8 // table.size)
