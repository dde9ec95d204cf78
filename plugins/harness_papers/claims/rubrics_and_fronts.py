"""Claims of rubrics, fronts, step rewards and reward models."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from harness.claims import Evidence, claim
from harness.probe import advantages, loss, rewards
from harness_papers.multi_reward.nonlinear_scalarisation import NonlinearScalarisation
from harness_papers.multi_reward.quark_medical import QuarkMedical

__all__ = [
    "a_concave_utility_balances", "efficient_ones_are_pushed_less", "evidence_is_needed", "hard_checks_separate",
    "late_mixing_is_free_of_scale", "majorities_rise", "mastered_columns_stay_quiet", "nudges_keep_mass",
    "partial_success_teaches", "scales_do_not_matter", "uncertain_winners_are_avoided", "useless_steps_pay",
]  # fmt: skip

GROUP = [0] * 8


@claim("verpo", "Groups in which nobody passes every test still teach.")
def partial_success_teaches() -> Evidence:
    """Random passes of five tests, of which the last is never passed."""
    noise = np.random.default_rng(0)
    idle = {"verpo": 0, "pass or fail": 0}
    for _ in range(30):
        passed = (noise.random((8, 5)) < [0.7, 0.5, 0.3, 0.1, 0.0]).astype(float)
        idle["verpo"] += int(abs(advantages("verpo", [0.0] * 8, GROUP, passed=passed)).max() < 1e-9)
        idle["pass or fail"] += int(abs(advantages("grpo(beta=0)", passed.all(1).astype(float), GROUP)).max() < 1e-9)
    return Evidence(idle["verpo"] < idle["pass or fail"] / 4, {f"idle of 30, {name}": n for name, n in idle.items()})


@claim("rare", "A saturated criterion separates completions again, and the others keep their scores.")
def hard_checks_separate() -> Evidence:
    """All right, with two informative columns, one of them alone in the second case."""
    noise = np.random.default_rng(1).random(8)
    fields: dict[str, Any] = {"reward_names": ["correct", "format"], "lengths": list(range(1, 9))}
    all_right = rewards("rare", [[1, 1]] * 8, GROUP, **fields)["rubric"]
    kept = rewards("rare", [[1, x] for x in noise], GROUP, **fields, params={"replace": 0})["rubric"]
    numbers = {
        "spread": float(all_right.std()),
        "change of what is informative": float(abs(2 * kept - 1 - noise).max()),
    }
    return Evidence(numbers["spread"] > 0.1 and numbers["change of what is informative"] < 1e-9, numbers)


@claim("metarubric", "Deleting the evidence from a completion lowers its reward.")
def evidence_is_needed() -> Evidence:
    """The same right answer, where it should stand and elsewhere."""
    fields: dict[str, Any] = {"reward_names": ["correct", "format"], "reward_weights": [1.0, 0.0]}
    there, gone = rewards("metarubric", [[1, 1], [1, 0]], [0, 0], **fields)["rubric"]
    return Evidence(there > gone, {"with evidence": float(there), "without": float(gone)})


@claim("heron", "The reward does not change when the scale of a factor does.")
def scales_do_not_matter() -> Evidence:
    """One factor a thousand times as large."""
    columns = np.random.default_rng(2).random((8, 2)).round(1)
    plain, scaled = (rewards("heron", columns * [1, size], GROUP)["win_rate"] for size in (1, 1000))
    summed = [advantages("grpo(beta=0)", columns * [1, size], GROUP) for size in (1, 1000)]
    change = {"heron": float(abs(plain - scaled).max()), "a weighted sum": float(abs(summed[0] - summed[1]).max())}
    return Evidence(
        change["heron"] == 0 < change["a weighted sum"], {f"change, {name}": x for name, x in change.items()}
    )


@claim("pareto-slider", "Late mixing does not follow the reward with the largest numbers.")
def late_mixing_is_free_of_scale() -> Evidence:
    """Two rewards of which one is a hundred times as large."""
    columns = np.random.default_rng(3).random((8, 2)) * [1, 100]
    small = advantages("grpo(beta=0)", columns[:, 0], GROUP)
    found = {
        f"correlation with the small one, {name}": float(np.corrcoef(advantages(method, columns, GROUP), small)[0, 1])
        for name, method in (("late", "pareto-slider"), ("early", "pareto-slider(late=False)"))
    }
    late, early = found.values()
    return Evidence(late > early + 0.3, found)


@claim("nonlinear-scalarisation", "A concave utility balances objectives at some cost in their sum.")
def a_concave_utility_balances() -> Evidence:
    """Exact policy gradient over three arms: good at the first, good at the second, fair at both."""
    arms = torch.tensor([[1.0, 0.0], [0.0, 0.6], [0.35, 0.35]], dtype=torch.float64)
    ends = {}
    for utility in ("log", "sum"):
        plugin = NonlinearScalarisation(utility=utility)
        logits = torch.zeros(3, dtype=torch.float64)
        for _ in range(400):
            chance = logits.softmax(0)
            means = dict(zip("ab", (chance @ arms).tolist(), strict=True))
            value = arms @ torch.tensor(list(plugin.slopes(means).values()), dtype=torch.float64)
            logits = logits + 0.1 * chance * (value - chance @ value)
        ends[utility] = logits.softmax(0) @ arms
    numbers = {f"least mean, {name}": float(mean.min()) for name, mean in ends.items()}
    numbers |= {f"sum of means, {name}": float(mean.sum()) for name, mean in ends.items()}
    balanced, greedy = ends["log"], ends["sum"]
    return Evidence(bool(balanced.min() > greedy.min() and balanced.sum() < greedy.sum()), numbers)


@claim("quark-medical", "The noise that is left in a mastered reward is not blown up again.")
def mastered_columns_stay_quiet() -> Evidence:
    """What one slip of ten thousandths in a mastered column counts against a real difference, by frozen statistics."""
    mastered = torch.tensor([[1.0]] * 7 + [[1.0 - 1e-4]], dtype=torch.float64)
    plugin = QuarkMedical()
    plugin.start()
    plugin.mean, plugin.std = torch.tensor([0.5]), torch.tensor([0.5])  # under the starting policy
    frozen = plugin.scaled(mastered)
    found = advantages("gdpo", np.stack([[1, 0] * 4, mastered[:, 0]], 1), GROUP)
    alone = advantages("gdpo", np.stack([[1, 0] * 4, [1.0] * 8], 1), GROUP)
    numbers = {"frozen": float(frozen.max() - frozen.min()), "gdpo": float(abs(found - alone).max())}
    return Evidence(
        numbers["frozen"] < 0.01 < numbers["gdpo"], {f"weight of a slip, {k}": v for k, v in numbers.items()}
    )


@claim("ttrv", "The answer of the majority gains, right or wrong, and no label is looked at.")
def majorities_rise() -> Evidence:
    """Five votes for a wrong answer, three for the right one."""
    fields: dict[str, Any] = {"answers": [7] * 5 + [9] * 3, "votes": [True] * 8, "shaped": True}
    found = advantages("ttrv", [0.0] * 5 + [1.0] * 3, GROUP, **fields)
    numbers = {"majority": float(found[0]), "minority": float(found[-1])}
    return Evidence(numbers["majority"] > 0 > numbers["minority"], numbers)


@claim("swap", "At one total penalty, steps that do not make the answer likelier pay more than with equal shares.")
def useless_steps_pay() -> Evidence:
    """Four steps of a token each, of which the second makes the answer likely."""
    before, after = [-4.0, -3.9, -0.2, -0.2], [-3.9, -0.2, -0.2, -0.1]
    fields: dict[str, Any] = {
        "lengths": [4, 2],
        "mask": [[1] * 4, [1, 1, 0, 0]],
        "step": [[0, 1, 2, 3]] * 2,
        "correct": [True, True],
    }
    fields |= {"value_before": [before] * 2, "value_after": [after] * 2}
    found = {tau: -advantages(f"swap(tau={tau})", [1.0, 1.0], [0, 0], **fields)[0] for tau in (1.0, 1e6)}
    numbers = {"useful step": float(found[1.0][1]), "useless step": float(found[1.0][2]), "equal": float(found[1e6][0])}
    shown = numbers["useful step"] < numbers["equal"] < numbers["useless step"]
    return Evidence(bool(shown and np.isclose(found[1.0].sum(), found[1e6].sum())), numbers)


@claim("depo-dual-efficiency", "Efficient good completions are not pushed harder, but less, once above the reference.")
def efficient_ones_are_pushed_less() -> Evidence:
    """The gradient of the loss by the log-probability, of one right completion that has gained half a nat."""
    known: dict[str, Any] = {"logp": [[0.5]], "logp_ref": [[0.0]], "logp_old": [[0.0]], "mask": [[1]], "lengths": [60]}

    def push(steps: int) -> float:
        return float(-loss("depo-dual-efficiency", rewards=[1.0], group=[0], steps=[steps], **known)[1][0, 0])

    numbers = {"1 step": push(1), "6 steps": push(6)}
    few, many = numbers.values()
    return Evidence(few < many, numbers)


@claim("affirmative-nudge", "The total log-probability of compared completions is not pushed down.")
def nudges_keep_mass() -> Evidence:
    """The sum of a pair's signals, with the nudge and without."""
    fields: dict[str, Any] = {"estimate": [0.3, -0.4], "compared": [True, True]}
    sums = {
        name: float(advantages(f"affirmative-nudge(nudge={nudge})", [0.0, 0.0], [0, 0], **fields).sum())
        for name, nudge in (("with", 0.02), ("without", 0.0))
    }
    return Evidence(sums["with"] > 0 and abs(sums["without"]) < 1e-12, {f"sum, {name}": x for name, x in sums.items()})


@claim("up-rlhf", "Under strong selection the truth falls less than with the mean of the ensemble.")
def uncertain_winners_are_avoided() -> Evidence:
    """The best of many by each reward, where members are the truth and noise that grows with the distance travelled."""
    noise = np.random.default_rng(4)
    truth = {"mean": 0.0, "mean less deviation": 0.0}
    for _ in range(40):
        far = noise.random(256)
        gold = noise.normal(size=256) - 2 * far
        members = gold[:, None] + far[:, None] * (noise.normal(size=(256, 1)) + 3 * noise.normal(size=(256, 4)))
        lams = {"mean": 0.0, "mean less deviation": 1.0}
        for name, lam in lams.items():
            found = rewards("up-rlhf", np.zeros(256), None, diverse=members, params={"lam": lam})["certain_reward"]
            truth[name] += float(gold[found.argmax()]) / 40
    return Evidence(truth["mean less deviation"] > truth["mean"], {f"truth, {name}": x for name, x in truth.items()})
