"""Several tasks as one: shares, the prompt pool, columns that apply to some rows only."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from harness.errors import HarnessError, UsageError
from harness.tasks.base import Problem, Task
from harness.tasks.math import MathTask
from harness.tasks.mixture import Mixture
from harness.tasks.pool import PromptPool


class Echo(Task):
    """A task with one column of its own and one that it shares with math; right is "yes"."""

    name = "echo"
    columns = ("format", "yes")
    correct_column = "yes"

    def __init__(self, size: int = 10, weight: float = 0.2) -> None:
        self.reward_weights = {"format": weight, "yes": 1.0}
        self.size = size

    def problems(self, split, limit=None):
        return [Problem(f"{self.name}:{split}/{i}", f"{i}?", self.name, "yes") for i in range(self.size)][:limit]

    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        said = np.array([float(text == "yes") for text in texts])
        return {"format": np.ones(len(texts)), "yes": said}


class Programs(Echo):
    name = "programs"
    needs_sandbox = True


def rollouts(keys, texts, index=None):
    width = max(map(len, texts))
    return SimpleNamespace(
        requests=[SimpleNamespace(key=key) for key in keys],
        index=torch.tensor(range(len(texts)) if index is None else index),
        texts=tuple(texts),
        truncated=torch.zeros(len(texts), dtype=torch.bool),
        mask=torch.tensor([[float(t < len(text)) for t in range(width)] for text in texts]),
        token_texts=lambda i: list(texts[i]),
    )


@pytest.fixture
def mixture():
    return Mixture([(MathTask(), 3), (Echo(), 1)], seed=5)


def test_columns_are_the_union_and_nan_where_they_do_not_apply(mixture):
    problem = MathTask().problems("train")[0]
    scored = mixture.score(
        rollouts([problem.key, "echo:train/3"], [f"#{problem.answer}", "yes", "no"], index=[0, 1, 1])
    )
    assert list(scored) == list(mixture.columns) == ["correct", "format", "brevity", "steps", "yes"]
    assert scored["correct"].isnan().tolist() == [False, True, True]
    assert scored["yes"].isnan().tolist() == [True, False, False]
    assert scored["format"].tolist() == [1, 1, 1]
    assert mixture.correct(scored).tolist() == [True, True, False]


def test_token_columns_are_per_token_and_nan_elsewhere(mixture):
    problem = next(p for p in MathTask().problems("train") if len(p.data["terms"]) == 2)
    a, b = problem.data["terms"]
    text = f"{a}{b:+d}={a + b};#{a + b}"
    steps = mixture.score(rollouts([problem.key, "echo:train/0"], [text, "yes"]))["steps"]
    assert steps.shape == (2, len(text))
    assert steps[0].sum() == 1
    assert steps[1].isnan().all()


def test_an_order_of_rows_changes_nothing(mixture):
    problem = MathTask().problems("train")[0]
    keys, texts = [problem.key, "echo:train/3"], [f"#{problem.answer}", "yes"]
    one, other = mixture.score(rollouts(keys, texts)), mixture.score(rollouts(keys[::-1], texts[::-1]))
    for name, values in one.items():
        torch.testing.assert_close(values, other[name].flip(0), equal_nan=True)


def test_weights(mixture):
    assert mixture.reward_weights["correct"] == 1
    assert Mixture([(Echo(), 1)], reward_weights={"yes": 3}).reward_weights == {"format": 0.2, "yes": 3}


def test_tasks_that_weigh_a_column_differently_are_refused():
    with pytest.raises(UsageError, match=r"reward_weights\.format"):
        Mixture([(MathTask(), 1), (Echo(weight=0.5), 1)])
    assert (
        Mixture([(MathTask(), 1), (Echo(weight=0.5), 1)], reward_weights={"format": 0.1}).reward_weights["format"]
        == 0.1
    )


def test_unknown_weights_and_duplicate_tasks_are_refused():
    with pytest.raises(UsageError, match="Did you mean 'brevity'"):
        Mixture([(MathTask(), 1)], reward_weights={"brevty": 1})
    with pytest.raises(UsageError, match="distinct names"):
        Mixture([(Echo(), 1), (Echo(), 1)])


def test_a_task_that_runs_programs_needs_a_sandbox():
    mixture = Mixture([(Programs(), 1)])
    assert mixture.needs_sandbox
    with pytest.raises(HarnessError, match="no sandbox"):
        mixture.score(rollouts(["programs:train/1"], ["yes"]))


def test_shares_hold_in_every_slice(mixture):
    for step in range(50):
        keys = mixture.pool.at_step(step, 32)
        assert abs(sum(key.startswith("math") for key in keys) - 24) <= 1


def test_the_pool_is_a_function_of_seed_and_step():
    def pool(seed):
        return Mixture([(MathTask(), 1), (Echo(), 1)], seed=seed).pool

    assert pool(1).at_step(7, 16) == pool(1).at_step(7, 16)
    assert pool(1).at_step(7, 16) != pool(2).at_step(7, 16)


def test_an_epoch_shows_every_prompt_once_and_the_next_is_shuffled_anew():
    problems = {"echo": Echo(size=40).problems("train")}
    pool = PromptPool(problems, {"echo": 1}, seed=0)
    first = [key for step in range(5) for key in pool.at_step(step, 8)]
    second = [key for step in range(5, 10) for key in pool.at_step(step, 8)]
    assert sorted(first) == sorted(second) == sorted(pool.keys)
    assert first != second


def test_slices_do_not_depend_on_what_was_asked_before():
    problems = {"echo": Echo(size=40).problems("train")}
    pool = PromptPool(problems, {"echo": 1}, seed=0)
    late = pool.at_step(9, 8)
    assert [pool.at_step(s, 8) for s in range(10)][9] == late == PromptPool(problems, {"echo": 1}, seed=0).at_step(9, 8)


def test_later_rounds_have_a_stream_of_their_own(mixture):
    draws = mixture.pool.draw(24, "round/1", 3)
    assert len(set(draws)) == 24
    assert draws == mixture.pool.draw(24, "round/1", 3)
    assert draws != mixture.pool.draw(24, "round/2", 3)
    assert draws != mixture.pool.draw(24, "round/1", 4)
    assert abs(sum(key.startswith("math") for key in draws) - 18) <= 1


def test_an_unknown_key_names_itself(mixture):
    with pytest.raises(UsageError, match="no prompt 'math:1'"):
        mixture.problem("math:1")


def test_a_task_without_problems_is_refused():
    with pytest.raises(UsageError, match="no training problems"):
        Mixture([(Echo(size=0), 1)])


def test_digests_follow_what_is_asked_and_how_it_is_scored():
    same = MathTask().digest(), MathTask().digest()
    assert same[0] == same[1] != MathTask(reward_weights={"format": 0.5}).digest()
    assert Mixture([(Echo(), 1)]).digest() != Mixture([(Echo(size=11), 1)]).digest()
