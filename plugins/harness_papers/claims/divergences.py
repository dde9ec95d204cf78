"""Claims about penalties on the distance to another policy, and trust regions that are no ratio clip."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.claims import Evidence, claim
from harness.probe import advantages, regularizer, token_loss
from harness_papers.claims.measuring import logit_ascent, relative_error, slopes, softmax

__all__ = [
    "bands_let_rare_tokens_rise", "estimators_have_these_gradients", "few_tokens_are_masked",
    "penalty_in_the_reward_regularises",
    "rare_tokens_are_not_over_penalised", "weights_make_the_penalty_right",
]  # fmt: skip

POLICY, REFERENCE = softmax(np.array([0.6, -0.4, 0.1])), softmax(np.array([-0.5, 0.3, 0.2]))


def reverse_kl(policy: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """[K] gradient of KL(policy || reference) with respect to the policy's logits."""
    gap = np.log(policy / reference)
    return policy * (gap - policy @ gap)


@claim("kl", "In the loss k1 regularises nothing, k2 has the gradient of the reverse KL and k3 that of the forward KL.")
def estimators_have_these_gradients() -> Evidence:
    """Expectation over three arms of the policy itself."""
    logp, ref = np.log(POLICY)[:, None], np.log(REFERENCE)[:, None]
    reverse = reverse_kl(POLICY, REFERENCE)
    forward = POLICY - REFERENCE
    numbers: dict[str, float] = {}
    for kind in ("k1", "k2", "k3"):
        _, gradient = regularizer(
            f"kl(beta=1.0, kind='{kind}')", logp=logp, logp_ref=ref, logp_old=logp, mask=np.ones((3, 1))
        )
        found = logit_ascent(3 * POLICY * gradient[:, 0], [0, 1, 2], POLICY)
        numbers |= {
            f"length, {kind}": float(np.linalg.norm(found)),
            f"error against reverse KL, {kind}": relative_error(found, reverse),
        }
        numbers |= {f"error against forward KL, {kind}": relative_error(found, forward)}
    shown = (
        max(numbers["length, k1"], numbers["error against reverse KL, k2"], numbers["error against forward KL, k3"])
        < 1e-9
    )
    return Evidence(shown, numbers)


@claim("kl-reward", "A penalty in the reward has the gradient of the reverse KL, where k1 in the loss has none.")
def penalty_in_the_reward_regularises() -> Evidence:
    """Expectation over three arms; equal rewards, REINFORCE on the reward less the penalty."""
    logp, ref = np.log(POLICY)[:, None], np.log(REFERENCE)[:, None]
    found = advantages(
        "reinforce+kl-reward(beta=1.0)",
        [0.0] * 3,
        [0, 1, 2],
        shaped=True,
        logp_old=logp,
        logp_ref=ref,
        logp_sampler=logp,
    )
    ascent = logit_ascent(POLICY * found.reshape(3, -1)[:, 0], [0, 1, 2], POLICY)
    _, gradient = regularizer("kl(beta=1.0, kind='k1')", logp=logp, logp_ref=ref, logp_old=logp, mask=np.ones((3, 1)))
    inert = logit_ascent(POLICY * gradient[:, 0], [0, 1, 2], POLICY)
    numbers = {"error against reverse KL": relative_error(-ascent, reverse_kl(POLICY, REFERENCE))}
    numbers["length of k1 in the loss"] = float(np.linalg.norm(inert))
    return Evidence(max(numbers.values()) < 1e-9, numbers)


@claim("rpg", "Off-policy the penalty's gradient is that of the KL, where GRPO's k3 lacks the importance weight.")
def weights_make_the_penalty_right() -> Evidence:
    """Three arms drawn from the old policy, penalty towards it; advantages 0, expectation over the arms."""
    logp, old = np.log(POLICY)[:, None], np.log(REFERENCE)[:, None]
    fields: dict[str, Any] = {
        "logp": logp,
        "logp_old": old,
        "mask": np.ones((3, 1)),
        "advantages": [0.0] * 3,
        "group": [0, 1, 2],
    }
    true = reverse_kl(POLICY, REFERENCE)
    numbers: dict[str, float] = {}
    for form in ("differentiable", "reinforce"):
        text = f"rpg(kl='urkl', beta=1.0, form='{form}', clip_low=1.0, clip_high=1e6)"
        pull = REFERENCE * token_loss(text, **fields)[1][:, 0]
        numbers[f"error, rpg, {form}"] = relative_error(logit_ascent(pull, [0, 1, 2], POLICY), true)
    _, gradient = regularizer("grpo(beta=1.0)", logp=logp, logp_old=old, logp_ref=old, mask=np.ones((3, 1)))
    numbers["error, grpo's k3"] = relative_error(logit_ascent(3 * REFERENCE * gradient[:, 0], [0, 1, 2], POLICY), true)
    ours = max(numbers["error, rpg, differentiable"], numbers["error, rpg, reinforce"])
    return Evidence(
        ours < 1e-9 < numbers["error, grpo's k3"], numbers, "Reverse KL for unnormalised densities, no clip."
    )


@claim("m2po", "Far fewer tokens leave than PPO clips, and the second moment of the rest is within the budget.")
def few_tokens_are_masked() -> Evidence:
    """Log-ratios of 4000 tokens, Student's t with 3 degrees of freedom times 0.12, random advantages."""
    rng = np.random.default_rng(0)
    moved = 0.12 * rng.standard_t(3, (40, 100))
    fields: dict[str, Any] = {
        "logp": moved,
        "logp_old": 0 * moved,
        "mask": 0 * moved + 1,
        "advantages": rng.choice([-1.0, 1.0], 40),
    }
    numbers: dict[str, float] = {}
    for text in ("m2po", "m2po(form='clip')", "grpo(beta=0)"):
        _, gradient = token_loss(text, group=np.arange(40), **fields)
        numbers[f"share without gradient, {text}"] = float((gradient == 0).mean())
        if text == "m2po":
            numbers["second moment before"] = float((moved**2).mean())
            numbers["second moment of what stays"] = float((moved[gradient != 0] ** 2).mean())
    shown = numbers["share without gradient, m2po"] < numbers["share without gradient, grpo(beta=0)"]
    return Evidence(shown and numbers["second moment of what stays"] <= 0.04, numbers)


@claim(
    "dppo-divergence",
    "Rare tokens are not over-penalised: a fivefold rise from .01 stays, a fall from .95 to .6 does not.",
)
def rare_tokens_are_not_over_penalised() -> Evidence:
    """A rise with advantage 1, a fall with -1; PPO clips both."""
    numbers: dict[str, float] = {}
    for text in ("dppo-divergence", "dppo-divergence(divergence='kl', low=0.05, high=0.05)", "grpo(beta=0)"):
        for name, old, new, sign in (("rise .01 to .05", 0.01, 0.05, 1.0), ("fall .95 to .6", 0.95, 0.6, -1.0)):
            start = np.log(old)
            found = slopes(text, np.log(new / old), sign, old=start, logp_sampler=[[start]])
            numbers[f"{name}, {text}"] = float(found[0])
    rises = [value for name, value in numbers.items() if name.startswith("rise")]
    falls = [value for name, value in numbers.items() if name.startswith("fall")]
    return Evidence(min(rises[:2]) > 0 == rises[2] and not any(falls), numbers)


@claim("bandpo", "Fewer rises of unlikely tokens are clipped than under a fixed range.")
def bands_let_rare_tokens_rise() -> Evidence:
    """Advantage 1, log-ratios from 0 to 2 (to probability 1 at most): share without gradient by the old probability."""
    numbers: dict[str, float] = {}
    for chance in (0.01, 0.1, 0.5):
        moved = np.linspace(0.0, min(2.0, -np.log(chance) - 1e-3), 100)
        for text in ("bandpo", "grpo(beta=0)"):
            numbers[f"p={chance}, {text}"] = float((slopes(text, moved, 1.0, old=np.log(chance)) == 0).mean())
    return Evidence(all(numbers[f"p={p}, bandpo"] < numbers[f"p={p}, grpo(beta=0)"] for p in (0.01, 0.1)), numbers)
