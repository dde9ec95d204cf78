from types import SimpleNamespace

import pytest
from harness_papers.group_relative.wgrpo_pair import WGRPOPair

from harness import PromptRecord
from harness.errors import HarnessError
from tests.batches import make_batch
from tests.papers.worked import ONE_OF_FOUR, advantages, approx

POOL = SimpleNamespace(at_step=lambda step, count: [f"{step}"] * count)
RATES = {"a": 1, "b": 2, "c": 7, "d": 6, "e": 0, "f": 8}


def state(step, batch=None):
    return SimpleNamespace(step=step, group_size=8, gathered=batch)


def test_the_weight_of_wrong_answers():
    assert advantages("wgrpo-pair", ONE_OF_FOUR).tolist() == approx([1.5, -0.5, -0.5, -0.5])
    assert advantages("wgrpo-pair(wrong=0.5)", ONE_OF_FOUR).tolist() == approx([1.125, -0.375, -0.375, -0.375])
    pair = advantages("wgrpo-pair(norm='pair', wrong=0.5)", ONE_OF_FOUR)
    assert pair.tolist() == approx(advantages("grpo", ONE_OF_FOUR).tolist())
    assert not advantages("wgrpo-pair(norm='pair')", [1.0, 1.0]).any()


def test_after_the_first_steps_the_hardest_and_the_easiest_make_a_pair():
    plugin = WGRPOPair(explore=1)
    plugin.start()
    rewards = [float(place < right) for right in RATES.values() for place in range(8)]
    records = tuple(PromptRecord(key=key, text="", task="t") for key in RATES for _ in range(8))
    batch = make_batch(rewards, [place // 8 for place in range(48)], prompts=records)
    assert plugin.select_prompts(POOL, 3, state(0)) == ["0"] * 3
    plugin.end_step(state(0, batch))
    assert plugin.solved == RATES
    assert plugin.select_prompts(POOL, 3, state(1)) == ["a", "c"]
    plugin.end_step(state(1, batch))
    assert plugin.tried["a"] == 8
    two = WGRPOPair(explore=1, pairs=2)
    two.solved, two.tried = plugin.solved, plugin.tried
    assert two.select_prompts(POOL, 3, state(1)) == ["a", "c", "b", "d"]


@pytest.mark.parametrize(("solved", "chosen"), [(15, False), (14, True), (12, True), (11, False)])
def test_easy_prompts_fail_one_to_slack_times_in_a_group(solved, chosen):
    plugin = WGRPOPair(explore=0)
    plugin.start()
    plugin.solved, plugin.tried = {"hard": 1, "easy": solved}, {"hard": 8, "easy": 16}
    assert (plugin.select_prompts(POOL, 2, state(0)) == ["hard", "easy"]) == chosen


def test_without_a_pair_the_epoch_goes_on():
    plugin = WGRPOPair(explore=0, slack=4.0)
    plugin.start()
    assert plugin.select_prompts(POOL, 2, state(5)) == ["5", "5"]
    plugin.solved, plugin.tried = {"even": 4}, {"even": 8}
    assert plugin.select_prompts(POOL, 2, state(5)) == ["5", "5"]
    with pytest.raises(HarnessError, match="pair"):
        WGRPOPair(norm="std")
