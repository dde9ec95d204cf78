"""Claims of surrogates: where a token keeps its gradient, how it fades, how noisy ratios are."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.claims import Evidence, claim
from harness.probe import token_loss
from harness_papers.claims.measuring import repeated, slopes

__all__ = [
    "clip_bounds_the_loss", "clip_holds_the_policy", "clipped_tokens_keep_gradient", "drift_rolls_back",
    "gate_has_no_dead_zone", "geometric_mean_is_narrow", "hazard_fades", "means_of_ratios_are_quiet",
    "mixed_ratios_are_quieter", "negatives_cannot_run_away", "no_overflow", "penalty_has_no_dead_zone",
    "penalty_is_alive_everywhere", "penalty_pulls_back", "stale_completions_fade", "target_pulls_back",
    "token_credit_survives", "variance_penalty_keeps_gradient",
]  # fmt: skip

GRID = np.linspace(-2, 2, 401)  # log-ratios


def dead(method: str) -> float:
    """Share of the grid's log-ratios, advantages 1 and -1, at which a token has no gradient."""
    return float(np.mean([slopes(method, GRID, sign) == 0 for sign in (1.0, -1.0)]))


def largest_jump(method: str) -> float:
    """The largest change of a token's gradient between neighbours on the grid, .01 apart."""
    return max(float(abs(np.diff(slopes(method, GRID, sign))).max()) for sign in (1.0, -1.0))


@claim("ppo-clip", "Several steps on one batch do not collapse the policy, where the unclipped surrogate does.")
def clip_holds_the_policy() -> Evidence:
    """Thirty steps on four completions of three: KL from the policy that sampled to the one that results."""
    fields: dict[str, Any] = {"advantages": [1.0, -1.0, -1.0, 1.0], "rewards": [1.0, 0.0, 0.0, 1.0]}
    numbers: dict[str, float] = {}
    for name, text in (("clipped", "ppo-clip"), ("unclipped", "ppo-clip(clip_low=1.0, clip_high=1e6)")):
        logits = repeated(text, [0.0, 0.0, 0.0], [0, 1, 1, 0], 30, 1.0, **fields)
        logp = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        numbers[f"KL, {name}"] = float((np.exp(logp[0]) * (logp[0] - logp[-1])).sum())
    ours, theirs = numbers.values()
    return Evidence(ours < 0.2 * theirs, numbers)


@claim("ppo-clip", "The dual clip takes away what a token with a negative advantage and a huge ratio would do.")
def clip_bounds_the_loss() -> Evidence:
    """Ratio 20, advantage -1."""
    numbers = {
        name: float(slopes(text, np.log(20.0), -1.0)[0])
        for name, text in (("push with dual=3", "ppo-clip(dual=3.0)"), ("without", "ppo-clip"))
    }
    return Evidence(numbers["push with dual=3"] == 0 > numbers["without"], numbers)


@claim("gspo", "The ratio of a completion is far less noisy than those of its tokens, the less the longer it is.")
def means_of_ratios_are_quiet() -> Evidence:
    """Log-ratios of tokens with standard deviation 0.2, completions of 10 and 1000 tokens; ratios read off the loss."""
    rng = np.random.default_rng(0)
    numbers: dict[str, float] = {}
    for tokens in (10, 1000):
        moved = rng.normal(0, 0.2, (100, tokens))
        for name, text in (
            ("gspo", "gspo(clip_low=1.0, clip_high=1e6)"),
            ("grpo", "grpo(beta=0, clip=1.0, clip_high=1e6)"),
        ):
            losses, _ = token_loss(
                text, logp=moved, logp_old=0 * moved, advantages=[1.0] * 100, mask=0 * moved + 1, group=np.arange(100)
            )
            numbers[f"std of the ratio, {name}, {tokens} tokens"] = float((-losses).std())
    shown = all(
        numbers[f"std of the ratio, gspo, {n} tokens"] < numbers[f"std of the ratio, grpo, {n} tokens"]
        for n in (10, 1000)
    )
    longer = numbers["std of the ratio, gspo, 1000 tokens"] < numbers["std of the ratio, gspo, 10 tokens"] / 5
    return Evidence(shown and longer, numbers)


@claim(
    "gspo-token",
    "Value and gradient are GSPO's for one advantage a completion, and token advantages keep their differences.",
)
def token_credit_survives() -> Evidence:
    """Eight completions of ten tokens; then the same mean advantage, uneven over tokens."""
    rng = np.random.default_rng(0)
    moved = rng.normal(0, 1e-3, (8, 10))
    fields: dict[str, Any] = {"logp": moved, "logp_old": 0 * moved, "mask": 0 * moved + 1, "group": np.arange(8)}
    even, uneven = rng.standard_normal((8, 1)), rng.standard_normal((8, 10))
    found = {
        (m, k): token_loss(m, advantages=a, **fields)[1]
        for m in ("gspo", "gspo-token")
        for k, a in (("even", even + 0 * moved), ("uneven", uneven))
    }
    numbers = {"difference of gradients, even": float(abs(found["gspo", "even"] - found["gspo-token", "even"]).max())}
    for text in ("gspo", "gspo-token"):
        numbers[f"spread over tokens, uneven, {text}"] = float(found[text, "uneven"].std(1).mean())
    same, theirs, ours = numbers.values()
    return Evidence(same < 1e-12 and theirs < 1e-12 < ours, numbers)


@claim("cispo", "A rare token that has become three times as likely keeps its gradient, where PPO's clip takes it.")
def clipped_tokens_keep_gradient() -> Evidence:
    """Old probability .01."""
    numbers = {text: float(slopes(text, np.log(3.0), 1.0, old=np.log(0.01))[0]) for text in ("cispo", "grpo(beta=0)")}
    return Evidence(numbers["cispo"] > 0 == numbers["grpo(beta=0)"], numbers)


@claim("sapo", "There is no region without gradient, and the gradient changes smoothly where PPO's jumps.")
def gate_has_no_dead_zone() -> Evidence:
    """Log-ratios from -2 to 2."""
    numbers = {f"dead share, {text}": dead(text) for text in ("sapo", "grpo(beta=0)")}
    numbers |= {f"largest jump, {text}": largest_jump(text) for text in ("sapo", "grpo(beta=0)")}
    shown = numbers["dead share, sapo"] == 0 < numbers["dead share, grpo(beta=0)"]
    return Evidence(shown and numbers["largest jump, sapo"] < 0.1 < numbers["largest jump, grpo(beta=0)"], numbers)


@claim("spo-simple", "Ratios stay within the clip range, where PPO overshoots.")
def penalty_pulls_back() -> Evidence:
    """Many steps on one batch of eight completions of three: the largest |ratio - 1|."""
    numbers = _overshoot("grpo(beta=0)+spo-simple", 40, 0.3) | _overshoot("grpo(beta=0)+spo-simple", 20, 2.0)
    ours, theirs = list(numbers.values())[:2]
    return Evidence(
        ours <= 0.2 < theirs, numbers, "It is stiff: with steps too large for its penalty it overshoots more."
    )


@claim("bpo-bounded", "After many steps on one batch ratios are nearer to the bounds than under GRPO's clip.")
def target_pulls_back() -> Evidence:
    """Many steps on one batch of eight completions of three: the largest |ratio - 1|."""
    numbers = _overshoot("bpo-bounded", 40, 0.3) | _overshoot("bpo-bounded", 20, 2.0)
    small, theirs, large, others = numbers.values()
    return Evidence(
        small < theirs and large < others, numbers, "The range is 0.2; its gradient does not shrink near the target."
    )


def _overshoot(method: str, steps: int, rate: float) -> dict[str, float]:
    rewards = np.array([1.0, 0, 0, 1, 0, 1, 0, 0.5])
    arms = [0, 1, 1, 0, 2, 0, 1, 2]
    numbers: dict[str, float] = {}
    fields: dict[str, Any] = {"rewards": rewards, "advantages": (rewards - rewards.mean()) / rewards.std()}
    for text in (method, "grpo(beta=0)"):
        logits = repeated(text, [0.0, 0.5, 0.2], arms, steps, rate, **fields)
        chances = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        numbers[f"{text}, steps of {rate}"] = float(abs(chances[-1] / chances[0] - 1).max())
    return numbers


@claim("spo-simple", "Where PPO's gradient vanishes, beyond the clip range, there is one that pulls back.")
def penalty_is_alive_everywhere() -> Evidence:
    """Log-ratios from -2 to 2, advantages 1 and -1; and the push at ratio 1.5 with advantage 1."""
    numbers: dict[str, float] = {}
    for text in ("grpo(beta=0)+spo-simple", "grpo(beta=0)"):
        numbers |= {f"dead share, {text}": dead(text), f"push at 1.5, {text}": float(slopes(text, np.log(1.5), 1.0)[0])}
    ours, pull, theirs, nothing = numbers.values()
    return Evidence(ours < 0.005 < theirs and pull < 0 == nothing, numbers)


@claim("cfpo", "There is no region without gradient: beyond the clip range tokens are pulled back.")
def penalty_has_no_dead_zone() -> Evidence:
    """Log-ratios from -2 to 2; and the push at ratio 1.5 with advantage 1."""
    numbers = {f"dead share, {text}": dead(text) for text in ("cfpo", "grpo(beta=0)")}
    numbers |= {f"push at 1.5, {text}": float(slopes(text, np.log(1.5), 1.0)[0]) for text in ("cfpo", "grpo(beta=0)")}
    shown = numbers["dead share, cfpo"] < 0.005 < numbers["dead share, grpo(beta=0)"]
    return Evidence(shown and numbers["push at 1.5, cfpo"] < 0 == numbers["push at 1.5, grpo(beta=0)"], numbers)


@claim("r2vpo", "Tokens with a high advantage and a high ratio keep their gradient.")
def variance_penalty_keeps_gradient() -> Evidence:
    """Ratio 1.5, advantage 2."""
    numbers = {text: float(slopes(text, np.log(1.5), 2.0)[0]) for text in ("r2vpo", "grpo(beta=0)")}
    return Evidence(numbers["r2vpo"] > 0 == numbers["grpo(beta=0)"], numbers)


@claim(
    "discovered-po",
    "Falling ratios of bad tokens are rolled back, rising ones of good tokens trusted less and less.",
)
def drift_rolls_back() -> Evidence:
    """Pushes at ratios .1 and .5 with advantage -1, at 1.5 and 3 with 1; PPO's clip gives 0."""
    falls, rises = slopes("discovered-po", np.log([0.1, 0.5]), -1.0), slopes("discovered-po", np.log([1.5, 3.0]), 1.0)
    numbers = {"push at .1, A=-1": float(falls[0]), "at .5": float(falls[1])}
    numbers |= {"over r A at 1.5, A=1": float(rises[0] / 1.5), "at 3": float(rises[1] / 3)}
    return Evidence(bool(falls.min() > 0) and 0 < rises[1] / 3 < rises[0] / 1.5 < 1, numbers)


@claim("vespo", "Completions far off-policy fade out smoothly on both sides, without a hard clip.")
def stale_completions_fade() -> Evidence:
    """Log-ratios of whole completions from -2 to 2, and e^4; the largest weight beside that of the plain ratio."""
    numbers = {"dead share": dead("vespo"), "largest jump": largest_jump("vespo")}
    far = [float(abs(slopes("vespo", d, sign)[0])) for d in (-6.0, 4.0) for sign in (1.0, -1.0)]
    numbers |= {"largest weight on the grid": max(float(abs(slopes("vespo", GRID, s)).max()) for s in (1.0, -1.0))}
    numbers |= {"largest weight at e^-6 and e^4": max(far), "largest jump, grpo": largest_jump("grpo(beta=0)")}
    shown = numbers["dead share"] == 0 and numbers["largest jump"] < 0.1 and max(far) < 0.01
    return Evidence(shown, numbers)


@claim(
    "topr",
    "Negative completions of another policy cannot drive the loss down without end; positive ones keep weight 1.",
)
def negatives_cannot_run_away() -> Evidence:
    """Weight of a completion whose probability has fallen to e^-5 of what it was; REINFORCE's is 1."""
    numbers: dict[str, float] = {}
    for name, text in (("topr", "topr"), ("reinforce", "reinforce")):
        for reward in (-1.0, 1.0):
            found = slopes(text, -5.0, reward, rewards=[reward])[0] / reward
            numbers[f"weight, reward {reward:+.0f}, {name}"] = float(found)
    small, kept = numbers["weight, reward -1, topr"], numbers["weight, reward +1, topr"]
    return Evidence(
        abs(small) < 0.01 and abs(kept - 1) < 1e-9 and abs(numbers["weight, reward -1, reinforce"] - 1) < 1e-9, numbers
    )


@claim("mhpo", "Gradients have fewer spikes than with a hard clip.")
def hazard_fades() -> Evidence:
    """Log-ratios with standard deviation 1, advantages 1 and -1: largest push and 99th percentile, over that at 1."""
    moved = np.random.default_rng(0).normal(0, 1, 2000)
    numbers: dict[str, float] = {}
    for text in ("mhpo", "grpo(beta=0)"):
        found = abs(np.concatenate([slopes(text, moved, sign) for sign in (1.0, -1.0)]))
        found = found / abs(slopes(text, 0.0, 1.0)[0])
        numbers |= {f"largest, {text}": float(found.max()), f"99th percentile, {text}": float(np.quantile(found, 0.99))}
    shown = all(numbers[f"{what}, mhpo"] < numbers[f"{what}, grpo(beta=0)"] for what in ("largest", "99th percentile"))
    return Evidence(shown, numbers, f"At ratio 1 the push is {float(slopes('mhpo', 0.0, 1.0)[0]):.3f}.")


@claim(
    "dhpo", "The length of a completion's gradient is less noisy than GRPO's, and tokens still differ, unlike GSPO's."
)
def mixed_ratios_are_quieter() -> Evidence:
    """200 completions of 50 tokens, log-ratios with standard deviation 0.1: variation of |gradient|."""
    rng = np.random.default_rng(0)
    moved = rng.normal(0, 0.1, (200, 50))
    numbers: dict[str, float] = {}
    for text in ("dhpo", "grpo(beta=0)", "gspo"):
        _, gradient = token_loss(
            text, logp=moved, logp_old=0 * moved, advantages=rng.choice([-1.0, 1.0], 200), mask=0 * moved + 1,
            group=np.arange(200),
        )  # fmt: skip
        length = np.linalg.norm(gradient, axis=1)
        numbers |= {
            f"variation, {text}": float(length.std() / length.mean()),
            f"spread over tokens, {text}": float(gradient.std(1).mean()),
        }
    shown = numbers["variation, dhpo"] < numbers["variation, grpo(beta=0)"]
    return Evidence(shown and numbers["spread over tokens, dhpo"] > numbers["spread over tokens, gspo"], numbers)


@claim("gmpo", "Importance ratios have a narrower range than GRPO's, with a clip of the same width too.")
def geometric_mean_is_narrow() -> Evidence:
    """100 completions of 50 tokens, log-ratios with standard deviation 0.3: range of the ratios."""
    moved = np.random.default_rng(0).normal(0, 0.3, (100, 50))
    numbers: dict[str, float] = {}
    width = f"grpo(beta=0, clip={1 - np.exp(-0.4)}, clip_high={np.exp(0.4) - 1})"
    for name, text in (("gmpo", "gmpo"), ("grpo", "grpo(beta=0)"), ("grpo, same width", width)):
        losses, _ = token_loss(
            text, logp=moved, logp_old=0 * moved, advantages=[1.0] * 100, mask=0 * moved + 1, group=np.arange(100)
        )
        numbers[name] = float(np.ptp(np.log(-losses)))
    return Evidence(
        numbers["gmpo"] < min(numbers["grpo"], numbers["grpo, same width"]), numbers, "In the logarithm; advantage 1."
    )


@claim(
    "stable-reinforce",
    "The loss cannot overflow, and outliers among advantages have no effect, unlike under Reinforce++.",
)
def no_overflow() -> Evidence:
    """A token whose log-ratio is 50, with advantage -1; and an outlier of 20 among 99 rewards near 0."""
    from harness.probe import advantages

    numbers: dict[str, float] = {}
    for name, text in (("ours", "stable-reinforce"), ("reinforce++", "reinforce-pp(beta=0)")):
        loss, _ = token_loss(text, logp=[[-1.0]], logp_old=[[-51.0]], advantages=[-1.0], mask=[[1.0]])
        rewards = [20.0, *np.random.default_rng(0).normal(0, 0.1, 99)]
        found = advantages(text, rewards, range(100)).reshape(100, -1)
        numbers |= {f"loss, {name}": float(loss[0, 0]), f"advantage of the outlier, {name}": float(found[0, 0])}
    shown = numbers["loss, ours"] <= 1e3 + 1e-6 < numbers["loss, reinforce++"]
    return Evidence(shown and numbers["advantage of the outlier, ours"] == 0, numbers)
