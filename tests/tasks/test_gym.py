"""reasoning-gym's generators: their problems, in splits that share nothing, and their own scorers."""

import random

import pytest

from harness.errors import HarnessError, UsageError
from harness.tasks import gym
from harness.tasks.base import SPLITS, hash_split
from harness.tasks.fields import normalized
from harness.tasks.gym import ReasoningGymTask
from harness.tasks.load import load_task
from harness.tasks.placing import shared

pytest.importorskip("reasoning_gym", reason="comes with the reasoning-gym extra")


@pytest.fixture(scope="module")
def sums():
    return load_task("reasoning-gym", {"name": "chain_sum", "size": 300, "score_seconds": 60})


def test_splits_share_nothing_and_lose_nothing(sums):
    splits = {split: sums.problems(split) for split in SPLITS}
    assert shared(splits) == {}
    assert sum(map(len, splits.values())) + sums.counts.duplicates == 300
    assert all(hash_split(normalized(p.prompt)) == split for split, found in splits.items() for p in found)
    assert {p.task for p in splits["test"]} == {"reasoning-gym:chain_sum"}


def test_its_own_scorer_decides(sums):
    problem = sums.problems("test")[0]
    answer = problem.answer
    texts = [f"So <answer> {answer} </answer>.", f"#### {answer}", answer, "zzz", "", f"<answer>0</answer> {answer}"]
    columns = sums.score_texts([problem] * 6, texts, [False] * 6)
    assert columns["correct"].tolist() == [1, 1, 1, 0, 0, 0]
    assert columns["score"].tolist() == columns["correct"].tolist()
    assert columns["format"].tolist() == [1, 0, 0, 0, 0, 1]
    cut = sums.score_texts([problem], texts[:1], [True])
    assert [values.tolist() for values in cut.values()] == [[0], [0], [0]]


def test_the_last_number_of_a_text_without_a_mark_where_it_is_asked_for(sums):
    problem = sums.problems("test")[0]
    answer = problem.answer
    lenient = ReasoningGymTask("chain_sum", size=300, score_seconds=60, unmarked="number")
    texts = [f"1 + 2 = {answer}.", f"{answer}, I think, not 1234567", "no idea", f"1 <answer>{answer}</answer> 9"]
    assert lenient.score_texts([problem] * 4, texts, [False] * 4)["correct"].tolist() == [1, 0, 0, 1]
    assert sums.score_texts([problem] * 4, texts, [False] * 4)["correct"].tolist() == [0, 0, 0, 1]
    assert lenient.digest() != sums.digest()
    with pytest.raises(UsageError, match="unmarked is 'text' or 'number', got 'last'"):
        ReasoningGymTask("chain_sum", unmarked="last")


def test_drawing_and_scoring_leave_the_random_state_alone(sums):
    random.seed(7)
    before = random.getstate()
    other = ReasoningGymTask("chain_sum", size=300, score_seconds=60)
    assert [p.key for p in other.problems("train", 5)] == [p.key for p in sums.problems("train", 5)]
    assert other.digest() == sums.digest()
    assert random.getstate() == before


@pytest.mark.slow
def test_another_seed_or_config_is_another_task(sums):
    other = ReasoningGymTask("chain_sum", size=300, seed=300)
    assert not {p.prompt for p in other.problems("train")} & {p.prompt for p in sums.problems("test")}
    small = ReasoningGymTask("chain_sum", size=300, config={"min_terms": 2, "max_terms": 2, "max_digits": 1})
    assert small.counts.duplicates == 0  # nothing is drawn before it is asked for
    assert len(small.problems("train")) < 240
    assert small.counts.duplicates > 50
    assert small.digest() != sums.digest()


@pytest.mark.slow
def test_a_scorer_that_takes_too_long_is_counted():
    some = ReasoningGymTask("countdown", size=60, score_seconds=20)
    problem = some.problems("train")[0]
    assert some.score_texts([problem], [problem.answer], [False])["correct"] == [1]
    some._worker.seconds = 0.2
    assert some.score_texts([problem], ["9**9**9**9**9"], [False])["score"] == [0]
    assert some.notes()[-1].endswith("1 answers took their scorer too long and count as wrong")
    some._worker.seconds = 20
    assert some.score_texts([problem], [problem.answer], [False])["correct"] == [1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "chain_summ"}, r"no generator 'chain_summ'.*'chain_sum'"),
        ({"name": "chain_sum", "config": {"terms": 2}}, r"does not take \{'terms': 2\}"),
        ({"name": "game_of_life_halting", "size": 20}, r"too few different problems.*20 have no answer that can be"),
        ({"name": "chain_sum", "size": 3}, r"too few different problems.*larger size"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(arguments, message):
    with pytest.raises(HarnessError, match=message) as raised:
        ReasoningGymTask(**arguments).problems("train")
    assert "\n" not in str(raised.value)


def test_draws_that_take_too_long_are_one_line(monkeypatch):
    monkeypatch.setattr(gym, "CHUNK_SECONDS", 0.001)
    with pytest.raises(HarnessError, match="to draw"):
        ReasoningGymTask("chain_sum").problems("train")


def test_unknown_options_are_one_line():
    with pytest.raises(UsageError, match=r"has no option 'nam'\. Did you mean 'name'"):
        load_task("reasoning-gym", {"nam": "lcm"})
