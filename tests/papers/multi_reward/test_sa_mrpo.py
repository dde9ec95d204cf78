import pytest

from harness import probe

approx = pytest.approx
RARE = [[1, 0], [1, 0], [1, 0], [0, 1]]


def test_the_rarer_reward_wins_where_fixed_weights_cancel():
    assert probe.advantages("gdpo", RARE, [0] * 4) == approx([0] * 4)
    found = probe.advantages("sa-mrpo", RARE, [0] * 4)
    assert found / found[0] == approx([1, 1, 1, -3])
    assert found[3] > 0


def test_saturated_rewards_count_nothing():
    rewards = [[1, 1], [1, 0], [1, 1], [1, 0]]
    alone = [[row[1]] for row in rewards]
    assert probe.advantages("sa-mrpo", rewards, [0, 0, 1, 1]) == approx(
        probe.advantages("gdpo", alone, [0, 0, 1, 1]), abs=1e-3
    )


def test_one_column_is_gdpo_whatever_gamma():
    rewards, group = [1.0, 0.0, 0.5, 0.5], [0, 0, 1, 1]
    found = probe.advantages("sa-mrpo(gamma=1)", rewards, group)
    assert found == approx(probe.advantages("gdpo", rewards, group), abs=1e-3)
