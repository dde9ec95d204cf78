"""Claims of regressions, distribution matching and classifiers: where they stand still, and what they weigh."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from harness.batch import PolicyOutput
from harness.claims import Evidence, claim
from harness.probe import advantages, objective, token_loss
from harness.probe_inputs import plain_batch
from harness_papers.claims.measuring import Array, logit_ascent, repeated, softmax
from harness_papers.objectives.flowrl import FlowRL

__all__ = [
    "classifier_weights_are_bounded", "contrast_stands_at_the_optimum", "difficulty_does_not_weigh",
    "flow_stands_at_the_tilt", "implicit_value_is_a_critic", "kimi_stands_at_the_tilt",
    "lagged_regression_stands_at_the_optimum",
    "leash_stands_at_the_tilt", "listwise_projection_improves", "optimal_value_stands_at_the_optimum",
    "pairs_stand_at_the_optimum", "regression_has_no_clip", "variance_stands_at_the_optimum",
]  # fmt: skip

OLD = softmax(np.array([0.4, -0.3, 0.8, 0.0]))
REWARDS = np.array([0.1, 0.5, 0.0, 0.3])
GROUP = [0, 0, 1, 2, 3, 3]  # whatever was sampled


def tilt(beta: float) -> Array:
    """[4] the policy of largest expected reward less beta times its KL to the old one."""
    found = OLD * np.exp(REWARDS / beta)
    return np.asarray(found / found.sum())


def soft_value(beta: float) -> float:
    """Beta ln E_old exp(R / beta)."""
    return beta * float(np.log(OLD @ np.exp(REWARDS / beta)))


def pull(method: str, policy: Array, arms: Sequence[int] = GROUP, **fields: Any) -> float:
    """Length of the gradient with respect to the logits on a batch of one prompt."""
    logp, old = (np.log(chances)[list(arms)][:, None] for chances in (policy, OLD))
    given: dict[str, Any] = {
        "logp_old": old,
        "logp_ref": old,
        "logp_sampler": old,
        "rewards": REWARDS[list(arms)],
        **fields,
    }
    _, gradient = objective(method, logp=logp, mask=np.ones_like(logp), group=[0] * len(arms), **given)
    return float(np.linalg.norm(logit_ascent(gradient, arms, policy)))


def stands(method: str, beta: float, **fields: Any) -> Evidence:
    """Gradient at the KL-regularised optimum and at the old policy, on a batch that neither policy would draw."""
    numbers = {
        "gradient at the optimum": pull(method, tilt(beta), **fields),
        "at the old policy": pull(method, OLD, **fields),
        "of grpo at the optimum": pull("grpo(beta=0)", tilt(beta)),
    }
    return Evidence(numbers["gradient at the optimum"] < 1e-9 < numbers["at the old policy"], numbers)


OPTIMUM = "The KL-regularised optimum is a stationary point, whatever the completions were sampled from."


@claim("gvpo", OPTIMUM)
def variance_stands_at_the_optimum() -> Evidence:
    """With beta 0.1, the default."""
    return stands("gvpo", 0.1)


@claim("rebel", OPTIMUM)
def pairs_stand_at_the_optimum() -> Evidence:
    """With eta 1, the default."""
    return stands("rebel", 1.0)


@claim("copg", OPTIMUM)
def contrast_stands_at_the_optimum() -> Evidence:
    """With beta 0.1, the default."""
    return stands("copg", 0.1)


@claim("a-star-po", OPTIMUM)
def optimal_value_stands_at_the_optimum() -> Evidence:
    """One beta of 0.5 as in theory, the optimal value known; and with the published betas, which differ."""
    found = stands("a-star-po(beta=0.5, beta_value=0.5)", 0.5, value_ahead=[soft_value(0.5)] * len(GROUP))
    published = pull("a-star-po", tilt(0.01), value_ahead=[soft_value(0.5)] * len(GROUP))
    start = pull("a-star-po", OLD, value_ahead=[soft_value(0.5)] * len(GROUP))
    numbers = {**found.numbers, "published betas, tilt by 0.01": published, "published betas, old policy": start}
    return dataclasses.replace(found, numbers=numbers)


@claim("oapl", OPTIMUM)
def lagged_regression_stands_at_the_optimum() -> Evidence:
    """One beta of 0.5; the value is of the group, exact only for all completions, here of a uniform policy."""
    logp = np.log(softmax(REWARDS / 0.5))[:, None]
    fields: dict[str, Any] = {
        "logp_sampler": np.full((4, 1), -np.log(4)),
        "rewards": REWARDS,
        "group": [0] * 4,
        "mask": np.ones((4, 1)),
    }
    numbers: dict[str, float] = {}
    for name, at in (("gradient at the optimum", logp), ("at the old policy", fields["logp_sampler"])):
        _, gradient = objective("oapl(beta=0.5, beta_value=0.5)", logp=at, logp_old=at, **fields)
        numbers[name] = float(np.linalg.norm(gradient))
    numbers["at the optimum, a group of six"] = pull("oapl(beta=0.5, beta_value=0.5)", tilt(0.5))
    return Evidence(numbers["gradient at the optimum"] < 1e-9 < numbers["at the old policy"], numbers)


def leash(method: str, beta: float) -> Evidence:
    """Expected gradient over the old policy's completions at the tilt, for two baselines, and at the old policy."""
    numbers: dict[str, float] = {}
    for name, baseline in (("soft value", soft_value(beta)), ("mean", float(OLD @ REWARDS))):
        for place, policy in (("tilt", tilt(beta)), ("old policy", OLD)):
            _, gradient = token_loss(
                method, logp=np.log(policy)[:, None], logp_old=np.log(OLD)[:, None], advantages=REWARDS - baseline,
                mask=np.ones((4, 1)), group=range(4),
            )  # fmt: skip
            length = np.linalg.norm(logit_ascent(OLD * gradient[:, 0], range(4), policy))
            numbers[f"gradient at the {place}, baseline {name}"] = float(length)
    shown = numbers["gradient at the tilt, baseline soft value"] < 1e-9
    note = "With the mean as baseline, the plugin's default, the stationary point is another."
    return Evidence(shown and numbers["gradient at the tilt, baseline mean"] < 1e-9, numbers, note)


TILT = "The fixed point is the exponential tilt of the old policy by the reward over beta."


@claim("dro", TILT)
def leash_stands_at_the_tilt() -> Evidence:
    """With beta 1, the default."""
    return leash("dro", 1.0)


@claim("opmd-kimi", TILT)
def kimi_stands_at_the_tilt() -> Evidence:
    """With tau 0.1, the default."""
    return leash("opmd-kimi", 0.1)


@claim(
    "flowrl",
    "The policy stands still in proportion to the reference times exp(beta A), where GRPO would go on to the best.",
)
def flow_stands_at_the_tilt() -> Evidence:
    """Completions of one token, beta 2 and ln Z exact, on a batch that neither policy would draw."""
    reward = REWARDS[GROUP]
    gain = (REWARDS - reward.mean()) / reward.std(ddof=1)
    goal = OLD * np.exp(2 * gain)
    log_z, goal = float(np.log(goal.sum())), goal / goal.sum()
    numbers: dict[str, float] = {}
    for name, policy in (("gradient at exp(beta A)", goal), ("at the reference", OLD)):
        logp, old = (torch.as_tensor(np.log(chances)[GROUP][:, None]) for chances in (policy, OLD))
        batch = plain_batch(
            {"logp_old": old, "logp_ref": old, "advantages": reward * 0 + gain[GROUP], "rewards": reward}
        )
        leaf = logp.clone().requires_grad_()
        output = PolicyOutput(leaf, old, batch.mask, modules={"log_z": torch.full((6,), log_z, dtype=torch.float64)})
        (gradient,) = torch.autograd.grad(FlowRL(beta=2.0).loss(batch, output), leaf)
        numbers[name] = float(np.linalg.norm(logit_ascent(gradient.numpy(), GROUP, policy)))
    numbers["of grpo at exp(beta A)"] = pull("grpo(beta=0)", goal)
    numbers["chance of the best there"] = float(goal.max())
    return Evidence(numbers["gradient at exp(beta A)"] < 1e-9 < numbers["at the reference"], numbers)


@claim(
    "lpo-listwise",
    "The expected reward over the list rises at every step, with gradients that are bounded and sum to zero.",
)
def listwise_projection_improves() -> Evidence:
    """Sixty steps of rate 1 on the four completions, from a uniform policy."""
    path = softmax(repeated("lpo-listwise", np.zeros(4), range(4), 60, 1.0, rewards=REWARDS, advantages=REWARDS))
    gains = np.diff(path @ REWARDS)
    logp = np.log(path[0])[:, None]
    _, gradient = objective(
        "lpo-listwise", logp=logp, logp_old=logp, rewards=REWARDS, group=[0] * 4, mask=np.ones((4, 1))
    )
    numbers = {"least rise in a step": float(gains.min()), "sum of the first gradient": float(abs(gradient.sum()))}
    numbers |= {"distance to the target at the end": float(abs(path[-1] - softmax(REWARDS)).max())}
    return Evidence(numbers["least rise in a step"] > 0 and numbers["sum of the first gradient"] < 1e-12, numbers)


@claim("disco", "A question's difficulty does not weigh, where GRPO's weight is sqrt(p (1 - p)).")
def difficulty_does_not_weigh() -> Evidence:
    """Groups of sixteen, equal scores: total push on the right ones, with one right over that with eight."""
    numbers: dict[str, float] = {}
    rewards = np.concatenate([np.arange(16) < 1, np.arange(16) < 8]).astype(float)
    logp = np.full((32, 1), -1.0)
    fields: dict[str, Any] = {
        "logp": logp,
        "logp_old": logp,
        "rewards": rewards,
        "group": np.repeat([0, 1], 16),
        "mask": np.ones((32, 1)),
    }
    for text in ("disco", "disco(negatives='mean')", "grpo(beta=0)"):
        _, gradient = objective(text, **fields)
        numbers[text] = float(gradient[:1].sum() / gradient[16:24].sum())
    return Evidence(abs(numbers["disco"] - 1) < 1e-9 and numbers["grpo(beta=0)"] < 0.9, numbers)


@claim("real", "Weights are bounded and fall as a completion is classified better; no wrong completion dominates.")
def classifier_weights_are_bounded() -> Evidence:
    """A right and a wrong completion; the log-ratio of one goes from -3 to 3, the other stays."""
    numbers: dict[str, float] = {}
    for text in ("real", "grpo(beta=0)"):
        for name, place, sign in (("right", 0, 1), ("wrong", 1, -1)):
            found = []
            for moved in sign * np.linspace(-3, 3, 13):
                logp = np.zeros((2, 1))
                logp[place] = moved
                _, gradient = objective(
                    text, logp=logp, logp_old=0 * logp, rewards=[1.0, 0.0], group=[0, 0], mask=0 * logp + 1
                )
                found.append(abs(float(gradient[place, 0])))
            numbers |= {
                f"largest weight, {name}, {text}": max(found),
                f"largest rise, {name}, {text}": float(np.diff(found).max()),
            }
    bounded = all(numbers[f"largest weight, {name}, real"] < 2 for name in ("right", "wrong"))
    falls = all(numbers[f"largest rise, {name}, real"] < 0 for name in ("right", "wrong"))
    return Evidence(bounded and falls, numbers, "From badly to well classified; the bound is 1/tau = 2.")


@claim("reg-grpo", "Completions that GRPO's clip would silence keep their gradient.")
def regression_has_no_clip() -> Evidence:
    """Fifty groups of four, log-ratios with standard deviation 0.5: share of completions without gradient."""
    rng = np.random.default_rng(0)
    logp, rewards = rng.normal(0, 0.5, (200, 1)), rng.random(200)
    numbers: dict[str, float] = {}
    for text in ("reg-grpo", "grpo(beta=0)"):
        fields: dict[str, Any] = {
            "logp_old": 0 * logp,
            "logp_ref": logp,
            "rewards": rewards,
            "group": np.arange(200) // 4,
        }
        _, gradient = objective(text, logp=logp, mask=0 * logp + 1, **fields)
        numbers[text] = float((abs(gradient) < 1e-12).mean())
    return Evidence(numbers["reg-grpo"] == 0 < numbers["grpo(beta=0)"], numbers)


@claim(
    "vimpo", "At the optimum the log-ratio less its exact KL is a token's advantage: credit by token without a critic."
)
def implicit_value_is_a_critic() -> Evidence:
    """Completions of two tokens out of three, all nine, at the KL-regularised optimum: correlations."""
    rng = np.random.default_rng(0)
    ref, reward, beta = [softmax(rng.standard_normal(shape)) for shape in ((3,), (3, 3))], rng.random((3, 3)), 0.5
    last = ref[1] * np.exp(reward / beta)
    value = beta * np.log(last.sum(1))
    last, first = last / last.sum(1, keepdims=True), softmax(np.log(ref[0]) + value / beta)
    kl = [first @ np.log(first / ref[0]), (last * np.log(last / ref[1])).sum(1)]
    mean = (last * reward).sum(1)
    true = np.stack([(mean - first @ mean).repeat(3), (reward - mean[:, None]).ravel()], 1)
    fields: dict[str, Any] = {
        "logp_old": np.stack([np.log(first).repeat(3), np.log(last).ravel()], 1),
        "logp_ref": np.stack([np.log(ref[0]).repeat(3), np.log(ref[1]).ravel()], 1),
        "vimpo_kl": np.stack([np.full(9, kl[0]), kl[1].repeat(3)], 1), "mask": np.ones((9, 2)),
    }  # fmt: skip
    ours = advantages(f"vimpo(beta={beta}, lam=0.0)", reward.ravel(), [0] * 9, **fields)
    plain = np.repeat(advantages("grpo(beta=0)", reward.ravel(), [0] * 9), 2)
    numbers = {"vimpo": float(np.corrcoef(ours.ravel(), true.ravel())[0, 1])}
    numbers["one advantage a completion"] = float(np.corrcoef(plain, true.ravel())[0, 1])
    return Evidence(numbers["vimpo"] > max(0.99, numbers["one advantage a completion"]), numbers, "lam = 0.")
