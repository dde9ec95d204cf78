import pytest

from harness import probe
from harness.errors import HarnessError

approx = pytest.approx
TWO_PROMPTS = [[0, 0], [1, 0], [0, 0], [1, 1]]
PROMPTS = [0, 0, 1, 1]


def test_columns_are_normalised_before_they_are_added():
    """Two columns in one prompt, one in the other: GRPO on the sum cannot tell them apart."""
    found = probe.advantages("gdpo", TWO_PROMPTS, PROMPTS)
    assert found == approx([-0.5477, 0.5477, -1.0954, 1.0954], abs=3e-4)
    assert probe.advantages("grpo(beta=0)", TWO_PROMPTS, PROMPTS) == approx([-0.7071, 0.7071] * 2, abs=1e-4)


def test_a_missing_reward_is_left_out_or_read_as_zero():
    rewards = [[1, None], [0, 1], [0, 0], [1, 0]]
    left_out, as_zero = (probe.advantages(f"gdpo(missing={how!r})", rewards, [0] * 4) for how in ("skip", "zero"))
    filled = [[0 if value is None else value for value in row] for row in rewards]
    assert as_zero == approx(probe.advantages("gdpo", filled, [0] * 4))
    assert left_out != approx(as_zero)


def test_a_group_of_one_keeps_nothing_or_its_rewards():
    rewards, group = [[1, 0], [0, 0], [2, 1]], [0, 0, 1]
    assert probe.advantages("gdpo(eps=0)", rewards, group) == approx([1, -1, 0])
    assert probe.advantages("gdpo(eps=0, single='raw')", rewards, group).argmax() == 2


def test_the_gate_hides_easy_rewards_where_the_hard_one_is_missed():
    rewards = probe.rewards("gdpo(gate='0')", [[1, 0.5], [0, 0.5], [0, None], [None, 0.5]], [0, 0, 0, 0])
    assert rewards["0"][:3].tolist() == [1, 0, 0]
    # Where the hard reward does not apply, nothing is missed.
    assert rewards["1"][[0, 1, 3]].tolist() == [0.5, 0, 0.5]
    with pytest.raises(HarnessError, match="no reward column 'style', only 0"):
        probe.rewards("gdpo(gate='style')", [1.0, 0.0], [0, 0])


def test_unknown_values_are_refused():
    with pytest.raises(HarnessError, match="'skip', 'zero'"):
        probe.advantages("gdpo(missing='drop')", [1.0, 0.0], [0, 0])
    with pytest.raises(HarnessError, match="'zero', 'raw'"):
        probe.advantages("gdpo(single='own')", [1.0, 0.0], [0, 0])
