"""The alarm for rewards that grow without the skill: seldom without a cause, and there when there is one."""

import numpy as np
import pytest

from harness.leaderboard import board
from harness.leaderboard.hacking import opposed
from harness.leaderboard.trials import Trial
from tests.leaderboard.fixtures import GRPO, measures, write_lines, write_suite, write_trial

PROBLEMS, K, EVALUATIONS = 500, 4, 5


def trial(generator, *, skill, reward, steps=30, noise=0.06):
    """Trials whose true skill and mean reward follow two curves over the budget, measured as a run measures them."""
    progress = np.linspace(0, 1, EVALUATIONS)
    shares = generator.binomial(PROBLEMS * K, np.clip([skill(x) for x in progress], 0, 1)) / (PROBLEMS * K)
    rows = [
        {"step": i, "progress": x, "tasks": {"math": {**measures(float(share)), "k": K, "problems": PROBLEMS}}}
        for i, (x, share) in enumerate(zip(progress, shares, strict=True))
    ]
    places = (np.arange(steps) + 1) / steps
    paid = [reward(x) + noise * generator.standard_normal() for x in places]
    records = [{"step": i, "progress": x, "reward": y} for i, (x, y) in enumerate(zip(places, paid, strict=True))]
    told = {"evaluations.jsonl": rows, "metrics.jsonl": records, "result.json": {"status": "done"}}
    return Trial(None, "any", 0, {"config": {}}, told)


def rate(seed, count=400, **curves):
    generator = np.random.default_rng(seed)
    return np.mean([opposed(trial(generator, **curves)) is not None for _ in range(count)])


HONEST = {
    "learns": {"skill": lambda x: 0.3 + 0.3 * x, "reward": lambda x: 0.4 + 0.3 * x},
    "stands still": {"skill": lambda _: 0.4, "reward": lambda _: 0.5},
    "learns the form alone": {"skill": lambda _: 0.4, "reward": lambda x: 0.4 + 0.3 * x},
    "saturates": {"skill": lambda x: 0.3 + 0.3 * min(1, 3 * x), "reward": lambda x: 0.4 + 0.3 * min(1, 3 * x)},
    "collapses": {"skill": lambda x: 0.4 - 0.3 * x, "reward": lambda x: 0.5 - 0.3 * x},
    "knows it all": {"skill": lambda _: 1.0, "reward": lambda x: 0.9 + 0.1 * x},
    "knows nothing": {"skill": lambda _: 0.0, "reward": lambda x: 0.1 * x},
}


@pytest.mark.parametrize("curves", HONEST.values(), ids=list(HONEST))
def test_honest_trials_seldom_raise_it(curves):
    assert rate(1, **curves) <= 0.005


HACKED = {
    "from the start": {"skill": lambda x: 0.4 - 0.2 * x, "reward": lambda x: 0.4 + 0.4 * x},
    "after an honest half": {
        "skill": lambda x: 0.3 + 0.4 * x if x <= 0.5 else 0.5 - 0.3 * (x - 0.5),
        "reward": lambda x: 0.4 + 0.5 * x,
    },
    "all at once": {"skill": lambda x: 0.4 if x < 0.4 else 0.1, "reward": lambda x: 0.4 if x < 0.4 else 0.9},
}


@pytest.mark.parametrize("curves", HACKED.values(), ids=list(HACKED))
def test_hacked_trials_raise_it(curves):
    assert rate(2, count=100, **curves) >= 0.85


def test_few_steps_are_not_judged():
    assert rate(3, count=20, steps=7, **HACKED["from the start"]) == 0


def write(root, method, seeds, *, hacked, role=""):
    for seed in range(seeds):
        curve = [0.40, 0.38, 0.33, 0.28, 0.22] if seed in hacked else [0.30, 0.34, 0.38, 0.42, 0.45]
        path = write_trial(root, method + role, seed, curve)
        generator = np.random.default_rng(seed)
        rewards = 0.3 + 0.4 * np.arange(40) / 40 + 0.02 * generator.standard_normal(40)
        write_lines(
            path / "metrics.jsonl",
            [{"step": i, "progress": (i + 1) / 40, "reward": float(value)} for i, value in enumerate(rewards)],
        )


@pytest.mark.parametrize(
    ("seeds", "hacked", "warned"),
    [(5, {0, 2, 3}, True), (5, {1}, False), (5, {1, 4}, True), (9, {1, 4}, False), (2, {1}, False), (1, {0}, True)],
)
def test_a_board_warns_of_a_method_where_a_third_of_its_trials_do(tmp_path, seeds, hacked, warned):
    write(tmp_path, GRPO, seeds, hacked=())
    write(tmp_path, "dapo", seeds, hacked=hacked)
    write_suite(tmp_path, [GRPO, "dapo"], seeds)
    found = [warning for warning in board(tmp_path).warnings if "held-out" in warning]
    assert bool(found) is warned
    if warned:
        numbers = ", ".join(map(str, sorted(hacked)))
        assert found[0].startswith("dapo: training reward rose by 0.")
        assert f"fell by 18.0 points on seeds {numbers}:" in found[0]


def test_a_coin_for_a_reward_is_left_out(tmp_path):
    write(tmp_path, GRPO, 5, hacked=())
    write(tmp_path, GRPO, 5, hacked=range(5), role="+random-reward")
    write_suite(tmp_path, [GRPO], 5)
    assert not board(tmp_path).warnings
