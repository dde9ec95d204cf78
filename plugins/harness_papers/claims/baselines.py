"""Claims of methods that choose the baseline of a policy gradient."""

from __future__ import annotations

import numpy as np

from harness.claims import Evidence, claim
from harness.probe import advantages, objective
from harness_papers.claims.measuring import expected_ascent, in_the_lab, of_value, relative_error

__all__ = [
    "batch_whitening_is_less_biased", "batch_whitening_keeps_prompts_alike", "beta_density_is_quiet",
    "critic_teaches_single_samples", "greedy_baseline_is_unbiased", "group_size_is_the_budgets",
    "leave_one_out_is_unbiased", "length_weights_are_quiet", "lost_groups_are_made_up_for", "medians_keep_signs",
    "plain_gradient_is_unbiased", "shrunk_means_are_nearer", "unanimous_groups_teach",
]  # fmt: skip

CHANCES, REWARDS = np.array([0.5, 0.3, 0.2]), np.array([0.0, 0.4, 1.0])


def expected_reward() -> np.ndarray:
    """[3] exact gradient of the expected reward of one completion."""
    return of_value(CHANCES, 1, lambda drawn: REWARDS[drawn[:, 0]])


@claim("reinforce", "The gradient is that of the expected reward, up to its scale.")
def plain_gradient_is_unbiased() -> Evidence:
    """All batches of three completions of one prompt."""
    mean, _ = expected_ascent("reinforce", CHANCES, REWARDS, 3, one_by_one=True)
    scale = float(mean @ expected_reward() / (expected_reward() @ expected_reward()))
    numbers = {"scale, (N - 1)/N": scale, "error beside the scale": relative_error(mean / scale, expected_reward())}
    return Evidence(numbers["error beside the scale"] < 1e-9, numbers)


@claim("rloo", "The gradient is unbiased for any group of two or more.")
def leave_one_out_is_unbiased() -> Evidence:
    """All groups of two to four, against GRPO's z-score."""
    errors = {
        f"{name}, G={size}": relative_error(expected_ascent(text, CHANCES, REWARDS, size)[0], expected_reward())
        for size in (2, 3, 4)
        for name, text in (("rloo", "rloo(beta=0)"), ("grpo", "grpo(beta=0)"))
    }
    ours = max(error for name, error in errors.items() if name.startswith("rloo"))
    return Evidence(ours < 1e-9, errors, "Relative errors of the expected gradient.")


@claim("remax", "The greedy baseline costs one decode and leaves the gradient unbiased, with one completion too.")
def greedy_baseline_is_unbiased() -> Evidence:
    """All groups of one and of three; the greedy completion is the likeliest, whose reward is 0.4 here."""
    rewards = REWARDS[[1, 0, 2]]
    true = of_value(CHANCES, 1, lambda drawn: rewards[drawn[:, 0]])
    errors = {
        f"error, G={size}": relative_error(
            expected_ascent("remax(beta=0)", CHANCES, rewards, size, greedy_reward=[0.4] * 3)[0], true
        )
        for size in (1, 3)
    }
    return Evidence(max(errors.values()) < 1e-9, errors)


@claim("opo", "Where lengths differ the gradient is less noisy than with the plain mean as the baseline.")
def length_weights_are_quiet() -> Evidence:
    """The lab's language, whose completions have one to three tokens."""
    ours, theirs = in_the_lab("opo", batches=100), in_the_lab("dr-grpo", batches=100)
    numbers = {"noise under opo": ours["noise"], "with the mean": theirs["noise"], "bias under opo": ours["bias"]}
    return Evidence(ours["noise"] < theirs["noise"], {**numbers, "bias with the mean": theirs["bias"]})


@claim("reinforce-pp", "Whitening over the batch biases the gradient less than a z-score per prompt.")
def batch_whitening_is_less_biased() -> Evidence:
    """The lab's language, aggregation included: each as published, without KL."""
    ours = in_the_lab("reinforce-pp(beta=0)", batches=60)
    theirs = in_the_lab("grpo(beta=0)", batches=60)
    numbers = {"bias of reinforce++": ours["bias"], "of grpo": theirs["bias"]}
    note = f"Noise {ours['noise']:.2f} and {theirs['noise']:.2f}; no baseline per prompt."
    return Evidence(ours["bias"] < theirs["bias"], numbers, note)


@claim("reinforce-pp-baseline", "An easy or a hard prompt is not blown up by the reciprocal of its std.")
def batch_whitening_keeps_prompts_alike() -> Evidence:
    """A prompt with one success in eight beside one with four: a unit's weight, first over second."""
    rewards = [1.0] + [0.0] * 7 + [1.0] * 4 + [0.0] * 4
    shares = {}
    for name, text in (("reinforce++-baseline", "reinforce-pp-baseline"), ("grpo", "grpo(beta=0)")):
        found = advantages(text, rewards, [0] * 8 + [1] * 8).reshape(16, -1)[:, 0]
        shares[name] = float(found[0] / 0.875 / (found[8] / 0.5))
    return Evidence(abs(shares["reinforce++-baseline"] - 1) < 1e-6 < shares["grpo"] - 1, shares)


@claim("bnpo", "The gradient is less noisy than under GRPO's and Dr. GRPO's fixed normalisers.")
def beta_density_is_quiet() -> Evidence:
    """The lab's bandit, pass rates from .1 to .9; noise does not depend on a method's scale."""
    found = {name: in_the_lab(name, "bandit", 60)["noise"] for name in ("bnpo", "grpo(beta=0)", "dr-grpo")}
    return Evidence(found["bnpo"] < min(found["grpo(beta=0)"], found["dr-grpo"]), found)


@claim("ebpo", "At small groups the baseline is nearer to the pass rate than the group's mean, and wrong groups teach.")
def shrunk_means_are_nearer() -> Evidence:
    """First step of 256 prompts with pass rates from Beta(2, 2), four completions each."""
    rng = np.random.default_rng(0)
    rates = rng.beta(2, 2, 256)
    reward = (rng.random((256, 4)) < rates[:, None]).astype(float)
    found = advantages("ebpo", reward.ravel(), np.repeat(np.arange(256), 4)).reshape(256, 4)
    mixed = reward.std(1) > 0
    # Of equal groups the raw advantages have mean 0 in the first step: only their scale is to be undone.
    scale = (found.max(1) - found.min(1))[mixed].mean()
    baseline = reward - found / scale
    errors = {
        "mean squared error of the baseline": float(((baseline - rates[:, None]) ** 2).mean()),
        "of the group's mean": float(((reward.mean(1) - rates) ** 2).mean()),
        "advantage in groups that are all wrong": float(found[reward.sum(1) == 0].mean()),
    }
    ours, theirs, wrong = errors.values()
    return Evidence(ours < theirs and wrong < 0, errors)


@claim("sppo-seq", "One completion a prompt teaches, without bias, where group baselines give nothing.")
def critic_teaches_single_samples() -> Evidence:
    """Three completions enumerated; the critic knows the pass rate, or nothing yet."""
    rate = float(CHANCES @ REWARDS)
    numbers: dict[str, float] = {}
    for name, logit in (("exact critic", np.log(rate / (1 - rate))), ("untrained critic", 0.0)):
        mean, variance = expected_ascent("sppo-seq", CHANCES, REWARDS, 1, prompt_value=[logit] * 3)
        numbers |= {f"error, {name}": relative_error(mean, expected_reward()), f"variance, {name}": variance}
    numbers["length of grpo's gradient, G=1"] = float(
        np.linalg.norm(expected_ascent("grpo(beta=0)", CHANCES, REWARDS, 1)[0])
    )
    unbiased = max(numbers["error, exact critic"], numbers["error, untrained critic"]) < 1e-9
    return Evidence(unbiased and numbers["length of grpo's gradient, G=1"] == 0, numbers)


@claim("mc-grpo", "At small groups fewer advantages have the wrong sign than with the group's mean.")
def medians_keep_signs() -> Evidence:
    """Rewards 1 or 0 plus a format part of 0 to 1; the sign is wrong against the prompt's true mean.

    MC-GRPO draws one completion more than it trains on: compared with GRPO on as many trained, and as many drawn.
    """
    rng = np.random.default_rng(0)
    rates = rng.uniform(0.1, 0.9, 2000)
    numbers: dict[str, float] = {}
    for size in (2, 4):
        reward = (rng.random((2000, size + 1)) < rates[:, None]) + rng.random((2000, size + 1))
        truth = np.sign(reward - rates[:, None] - 0.5)
        for name, text, taken in (
            ("mc-grpo", "mc-grpo", size + 1), ("grpo, as many trained", "grpo(beta=0)", size),
            ("grpo, as many drawn", "grpo(beta=0)", size + 1),
        ):  # fmt: skip
            part = reward[:, :taken]
            found = np.sign(advantages(text, part.ravel(), np.repeat(np.arange(2000), taken))).reshape(2000, taken)
            pushed = found != 0
            numbers[f"{name}, G={size}"] = float((found != truth[:, :taken])[pushed].mean())
    shown = all(
        numbers[f"mc-grpo, G={n}"] < numbers[f"grpo, as many {what}, G={n}"]
        for n in (2, 4)
        for what in ("trained", "drawn")
    )
    return Evidence(shown, numbers, "Share of wrong signs among completions that are pushed.")


@claim("gpg", "The factor makes up for the gradient that groups without spread take out of the average.")
def lost_groups_are_made_up_for() -> Evidence:
    """One mixed group alone, and beside three that are all right or all wrong; with the factor and without."""
    mixed, flat = [1.0, 0.0, 0.0, 0.0], [1.0] * 4 + [0.0] * 8

    def pull(text: str, rewards: list[float]) -> float:
        keys = np.repeat(np.arange(len(rewards) // 4), 4)
        zeros = np.zeros((len(rewards), 1))
        _, gradient = objective(text, logp=zeros, logp_old=zeros, rewards=rewards, group=keys, mask=zeros + 1)
        return float(-gradient[0, 0])

    alone = pull("gpg", mixed)
    numbers = {"share left, gpg": pull("gpg", mixed + flat) / alone}
    numbers["without the factor"] = pull("gpg(alpha='none')", mixed + flat) / alone
    return Evidence(abs(numbers["share left, gpg"] - 1) < 1e-9, numbers)


@claim("copo-consistency", "Groups that are all right or all wrong have a gradient.")
def unanimous_groups_teach() -> Evidence:
    """Three prompts: all right, all wrong, mixed; every group gives one answer only."""
    rewards, keys = [1.0] * 4 + [0.0] * 4 + [1.0, 1.0, 0.0, 0.0], np.repeat([0, 1, 2], 4)
    zeros = np.zeros((12, 1))
    numbers: dict[str, float] = {}
    for text in ("copo-consistency", "grpo(beta=0)"):
        _, gradient = objective(
            text, logp=zeros, logp_old=zeros, rewards=rewards, group=keys, mask=zeros + 1, answers=keys
        )
        numbers |= {
            f"push of right ones, {text}": float(-gradient[0, 0]),
            f"of wrong ones, {text}": float(-gradient[4, 0]),
        }
    ours = numbers["push of right ones, copo-consistency"] > 0 > numbers["of wrong ones, copo-consistency"]
    return Evidence(ours and numbers["push of right ones, grpo(beta=0)"] == 0, numbers)


@claim("ustat-groupsize", "The group size of least error does not depend on the number of completions.")
def group_size_is_the_budgets() -> Evidence:
    """Two-armed prompts of any pass rate: c0 G + c1 + c2 / G fitted to N times the squared error of RLOO's gradient."""
    rng, sizes, numbers = np.random.default_rng(0), np.array([2, 4, 8, 12]), {}
    for budget in (24, 48):
        errors = []
        for size in sizes:
            prompts = 24_000 // size
            rates = rng.random((prompts, 1))
            won = (rng.random((prompts, size)) < rates).astype(float)
            found = advantages("ustat-groupsize", won.ravel(), np.repeat(np.arange(prompts), size))
            gradient = (found.reshape(prompts, size) * (won - rates)).mean(1).reshape(-1, budget // size).mean(1)
            errors.append(budget * float(((gradient - 1 / 6) ** 2).mean()))  # 1/6 is the mean of p (1 - p)
        between, _, within = np.linalg.lstsq(np.stack([sizes, sizes**0, 1 / sizes], 1), errors, rcond=None)[0]
        numbers[f"best G, N={budget}"] = float((max(within, 0) / between) ** 0.5)
    one, other = numbers.values()
    return Evidence(abs(one / other - 1) < 0.25, numbers, "A few hundred batches resolve no better.")
