from pathlib import Path

from harness.probe import advantages

METHOD = str(Path(__file__).parents[1] / "my_method.py")


def test_best_completion_gets_more() -> None:
    values = advantages(METHOD, rewards=[[1.0], [0.0], [0.0], [0.0]], group=[0, 0, 0, 0])
    assert values.tolist() == [0.75, -0.25, -0.25, -0.25]


def test_equal_rewards_give_nothing() -> None:
    assert advantages(METHOD, rewards=[[1.0], [1.0]], group=[0, 0]).tolist() == [0.0, 0.0]
