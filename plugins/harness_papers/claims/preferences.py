"""Claims of preference and pairwise objectives."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from harness.batch import PolicyOutput
from harness.claims import Evidence, claim
from harness.probe import advantages, objective
from harness.probe_inputs import plain_batch
from harness_papers.claims.measuring import all_groups, cosine, logit_ascent, relative_error, softmax
from harness_papers.preference.drpo_doubly_robust import DRPODoublyRobust

__all__ = [
    "chosen_does_not_fall", "closeness_keeps_the_signal", "gaps_explain_preferences", "labels_are_enough",
    "length_is_no_score", "likely_mistakes_cost_more", "regret_is_enough", "reverse_kl_is_reinforcement",
    "shifts_cancel", "sure_preferences_are_bounded", "win_rate_rises", "wrong_models_are_corrected",
]  # fmt: skip

REWARDS = np.array([1.0, 0.2, 0.0, 0.6])


@claim("p3o", "A shift of all rewards of a prompt changes nothing, where plain PPO with a batch baseline is moved.")
def shifts_cancel() -> Evidence:
    """Two prompts with two completions each; the first prompt's rewards rise by 10."""
    logp, rewards = np.random.default_rng(0).normal(0, 0.05, (4, 1)), np.array([1.0, 0.0, 0.5, 0.2])
    fields: dict[str, Any] = {
        "logp": logp,
        "logp_old": 0 * logp,
        "logp_ref": 0 * logp,
        "group": [0, 0, 1, 1],
        "mask": 0 * logp + 1,
    }
    numbers: dict[str, float] = {}
    for text in ("p3o", "ppo-clip"):
        plain, moved = (
            objective(text, rewards=rewards + shift, **fields)[1] for shift in (0, np.array([10, 10, 0, 0]))
        )
        numbers[f"relative change, {text}"] = relative_error(moved, plain)
    return Evidence(numbers["relative change, p3o"] < 1e-9 < numbers["relative change, ppo-clip"], numbers)


@claim("exo", "The direction is that of reinforcement learning with a KL penalty, which DPO's is not.")
def reverse_kl_is_reinforcement() -> Evidence:
    """All four completions in one group, uniform reference, beta 1: mean cosine with the exact gradient."""
    rng = np.random.default_rng(0)
    found: dict[str, list[float]] = {"exo": [], "dpo": []}
    ref = np.full((4, 1), -np.log(4))
    for _ in range(10):
        policy = softmax(rng.standard_normal(4))
        gain = REWARDS - np.log(4 * policy)
        true = policy * (gain - policy @ gain)
        logp = np.log(policy)[:, None]
        for name, text in (("exo", "exo"), ("dpo", "dpo(beta=1.0, pairs='ordered')")):
            _, gradient = objective(
                text, logp=logp, logp_old=logp, logp_ref=ref, rewards=REWARDS, group=[0] * 4, mask=np.ones((4, 1))
            )
            found[name].append(cosine(-logit_ascent(gradient, range(4), policy), true))
    numbers = {name: float(np.mean(values)) for name, values in found.items()}
    return Evidence(numbers["exo"] > 1 - 1e-9 > numbers["dpo"], numbers)


@claim("rpo-sft", "The log-probability of the chosen answer does not fall, where under DPO it can.")
def chosen_does_not_fall() -> Evidence:
    """One weight that all answers share, with features 0 (rejected), 1 (chosen) and 3 (another).

    The policy is the reference, chances .3, .3 and .4, so that what raises the chosen over
    the rejected raises the other more. Slopes of the chosen one's log-probability.
    """
    feature, policy = np.array([0.0, 1.0, 3.0]), np.array([0.3, 0.3, 0.4])
    scores = feature - policy @ feature  # of the three log-probabilities by the weight
    logp = np.log(policy)[[0, 1]][:, None]
    fields: dict[str, Any] = {
        "logp_old": logp,
        "logp_ref": logp,
        "rewards": [0.0, 1.0],
        "group": [0, 0],
        "mask": np.ones((2, 1)),
    }
    numbers: dict[str, float] = {}
    for text in ("rpo-sft", "rpo-sft(eta=0.2)", "dpo"):
        _, gradient = objective(text, logp=logp, **fields)
        numbers[f"slope of the chosen, {text}"] = float(-(gradient[:, 0] @ scores[[0, 1]]) * scores[1])
    shown = numbers["slope of the chosen, rpo-sft"] >= 0 > numbers["slope of the chosen, dpo"]
    return Evidence(shown, numbers, "With the published weight of 0.005 the anchor is too weak here.")


@claim("dno", "The win rate against the last iterate is above one half in every iteration.")
def win_rate_rises() -> Evidence:
    """Four completions, exact expectation over all pairs; five iterations of six steps of rate 20."""
    drawn = all_groups(4, 2)
    keys = np.repeat(np.arange(len(drawn)), 2)
    wins = (np.sign(REWARDS[:, None] - REWARDS) + 1) / 2
    logits = np.zeros(4)
    numbers: dict[str, float] = {}
    for turn in range(5):
        old = softmax(logits)
        start = np.log(old)[drawn.ravel()][:, None]
        chance = np.repeat(old[drawn].prod(1), 2)
        for _ in range(6):
            policy = softmax(logits)
            _, gradient = objective(
                "dno", logp=np.log(policy)[drawn.ravel()][:, None], logp_old=start, rewards=REWARDS[drawn.ravel()],
                group=keys, mask=np.ones_like(start),
            )  # fmt: skip
            logits = logits - 20 * len(drawn) * logit_ascent(chance * gradient[:, 0], drawn.ravel(), policy)
        numbers[f"win rate, iteration {turn + 1}"] = float(softmax(logits) @ wins @ old)
    return Evidence(min(numbers.values()) > 0.5, numbers)


@claim("po-co", "The signal does not shrink as the rewards of solutions come close.")
def closeness_keeps_the_signal() -> Evidence:
    """Gradient of four completions whose rewards are a thousand times closer, over the gradient before."""
    logp = np.random.default_rng(0).normal(-2, 0.3, (4, 1))
    fields: dict[str, Any] = {"logp": logp, "logp_old": logp, "group": [0] * 4, "mask": 0 * logp + 1}
    numbers: dict[str, float] = {}
    for text in ("po-co", "dr-grpo", "grpo(beta=0)"):
        wide, close = (np.linalg.norm(objective(text, rewards=scale * REWARDS, **fields)[1]) for scale in (1.0, 1e-3))
        numbers[text] = float(close / wide)
    return Evidence(
        abs(numbers["po-co"] - 1) < 1e-9 and numbers["dr-grpo"] < 0.01, numbers, "A z-score (GRPO) keeps it as well."
    )


@claim("rere", "Beside a right answer, wrong ones that the policy finds likely are punished more.")
def likely_mistakes_cost_more() -> Evidence:
    """One right and three wrong completions, the wrong ones ever less likely."""
    logp = np.array([[-2.0], [-1.0], [-3.0], [-5.0]])
    numbers: dict[str, float] = {}
    for text in ("rere", "grpo(beta=0)"):
        found = advantages(text, [1.0, 0, 0, 0], [0] * 4, logp_old=logp, logp_sampler=logp, shaped=True)
        numbers |= {f"{name} mistake, {text}": float(found[k]) for k, name in ((1, "likeliest"), (3, "least likely"))}
    ours = numbers["likeliest mistake, rere"] < numbers["least likely mistake, rere"]
    return Evidence(
        ours and numbers["likeliest mistake, grpo(beta=0)"] == numbers["least likely mistake, grpo(beta=0)"], numbers
    )


@claim("ipo", "Preferences without any doubt do not drive log-ratios apart without end, as DPO's do.")
def sure_preferences_are_bounded() -> Evidence:
    """Push on the chosen answer as the gap of log-ratios grows to 5, the optimum for tau 0.1, and 10."""
    numbers: dict[str, float] = {}
    for text in ("ipo", "dpo"):
        for gap in (0.0, 5.0, 10.0):
            _, gradient = objective(
                text, logp=[[gap / 2 - 9], [-gap / 2 - 9]], logp_old=[[-9.0], [-9.0]], logp_ref=[[-9.0], [-9.0]],
                rewards=[1.0, 0.0], group=[0, 0], mask=np.ones((2, 1)),
            )  # fmt: skip
            numbers[f"push at {gap:g}, {text}"] = float(0.0 - gradient[0, 0])
    shown = abs(numbers["push at 5, ipo"]) < 1e-9 and numbers["push at 10, ipo"] < 0 < numbers["push at 10, dpo"]
    return Evidence(shown, numbers)


@claim("dpo", "The gap of log-ratios that stands still is the one whose rewards explain the preferences.")
def gaps_explain_preferences() -> Evidence:
    """A share of .2 of wrong labels: the push on the chosen answer at the gap ln(.8/.2) / beta, and at none."""
    numbers: dict[str, float] = {}
    for name, gap in (("at the gap that explains them", np.log(4) / 0.1), ("at none", 0.0)):
        _, gradient = objective(
            "dpo(smoothing=0.2)", logp=[[gap / 2 - 9], [-gap / 2 - 9]], logp_old=[[-9.0], [-9.0]],
            logp_ref=[[-9.0], [-9.0]], rewards=[1.0, 0.0], group=[0, 0], mask=np.ones((2, 1)),
        )  # fmt: skip
        numbers[name] = float(0.0 - gradient[0, 0])
    return Evidence(abs(numbers["at the gap that explains them"]) < 1e-9 < numbers["at none"], numbers)


@claim("simpo", "A completion's score does not grow with its length, as DPO's does.")
def length_is_no_score() -> Evidence:
    """The chosen answer's tokens are .1 likelier than before: loss with 10 tokens less loss with 40."""
    numbers: dict[str, float] = {}
    for text in ("simpo", "dpo"):
        losses = []
        for tokens in (10, 40):
            mask = (np.arange(40) < np.array([[tokens], [10]])).astype(float)
            ref = -2 * mask
            logp = ref + 0.1 * mask * np.array([[1.0], [0.0]])
            fields: dict[str, Any] = {"logp_old": logp, "logp_ref": ref, "rewards": [1.0, 0.0], "group": [0, 0]}
            losses.append(objective(text, logp=logp, mask=mask, **fields)[0])
        numbers[text] = losses[0] - losses[1]
    return Evidence(abs(numbers["simpo"]) < 1e-9 < numbers["dpo"], numbers)


@claim("kto", "A single labelled completion teaches, without a pair.")
def labels_are_enough() -> Evidence:
    """Two prompts with one completion each, one right and one wrong."""
    logp = np.array([[-1.0], [-1.5]])
    fields: dict[str, Any] = {
        "logp_old": logp,
        "logp_ref": logp,
        "rewards": [1.0, 0.0],
        "group": [0, 1],
        "mask": np.ones((2, 1)),
    }
    numbers: dict[str, float] = {}
    for text in ("kto", "dpo"):
        _, gradient = objective(text, logp=logp, **fields)
        numbers |= {
            f"push of the right, {text}": float(0.0 - gradient[0, 0]),
            f"of the wrong, {text}": float(0.0 - gradient[1, 0]),
        }
    right, wrong, *others = numbers.values()
    return Evidence(right > 0 > wrong and not any(others), numbers)


@claim("cpl", "From preferences by regret the optimal policy is learnt without a reward model: it stands still there.")
def regret_is_enough() -> Evidence:
    """All pairs of four completions, preferred with chance sigmoid(alpha (ln pi*(a) - ln pi*(b)))."""
    best = softmax(3 * REWARDS)
    drawn = np.array([pair for pair in all_groups(4, 2) if pair[0] != pair[1]])
    gap = 0.1 * (np.log(best)[drawn[:, 0]] - np.log(best)[drawn[:, 1]])
    weight = np.repeat(1 / (1 + np.exp(-gap)), 2)
    numbers: dict[str, float] = {}
    for text in ("cpl(lam=1.0)", "cpl"):
        for name, policy in (("optimal", best), ("uniform", np.full(4, 0.25))):
            logp = np.log(policy)[drawn.ravel()][:, None]
            _, gradient = objective(
                text, logp=logp, logp_old=logp, rewards=[1.0, 0.0] * len(drawn), mask=np.ones_like(logp),
                group=np.repeat(np.arange(len(drawn)), 2),
            )  # fmt: skip
            numbers[f"gradient at the {name} policy, {text}"] = float(
                np.linalg.norm(logit_ascent(weight * gradient[:, 0], drawn.ravel(), policy))
            )
    shown = numbers["gradient at the optimal policy, cpl(lam=1.0)"] < 1e-9
    note = "With the published bias lam = 0.5 the stationary point is another."
    return Evidence(shown and numbers["gradient at the uniform policy, cpl(lam=1.0)"] > 1e-6, numbers, note)


@claim(
    "drpo-doubly-robust",
    "With samples of the policy itself the gradient is right however wrong the preference model is.",
)
def wrong_models_are_corrected() -> Evidence:
    """Two logged answers and a fresh one out of four, all groups; without KL, whole-batch expectation.

    The gradient of the chance that an answer beats another of the policy, beside that with three preference models.
    """
    policy = np.array([0.4, 0.3, 0.2, 0.1])
    drawn = all_groups(4, 3)
    arms, weight = drawn.ravel(), np.repeat(policy[drawn].prod(1), 3) * len(drawn)
    wins = ((np.sign(REWARDS[:, None] - REWARDS) + 1) / 2) @ policy
    true = policy * (wins - policy @ wins)
    logp = torch.as_tensor(np.log(policy)[arms][:, None].copy())
    keys = np.repeat(np.arange(len(drawn)), 3)
    batch = plain_batch(
        {"logp_old": logp, "logp_ref": logp, "logp_sampler": logp, "rewards": REWARDS[arms], "group": keys}
    )
    batch = batch.replace(rollout=torch.arange(3).repeat(len(drawn)))
    numbers: dict[str, float] = {}
    for name, scores in (("right", 9 * REWARDS), ("ignorant", 0 * REWARDS), ("opposite", -3 * REWARDS)):
        leaf = logp.clone().requires_grad_()
        judged = {"drpo_preference": torch.as_tensor(scores[arms][:, None].copy())}
        output = PolicyOutput(leaf, logp, batch.mask, modules=judged)
        (gradient,) = torch.autograd.grad(DRPODoublyRobust(beta=0.0).loss(batch, output), leaf)
        numbers[f"error, {name} model"] = relative_error(
            -logit_ascent(weight * gradient.numpy()[:, 0], arms, policy), true
        )
    return Evidence(max(numbers.values()) < 1e-9, numbers)
