import pytest

from harness import probe

approx = pytest.approx


def advantages(sound, flawed, wrong):
    correct = [1] * (sound + flawed) + [0] * wrong
    steps = [1] * sound + [0.5] * flawed + [1] * wrong
    rewards, names = list(zip(correct, steps, strict=True)), ["correct", "steps"]
    fields = {"group": [0] * len(rewards), "reward_names": names}
    shaped = probe.rewards("fapo-flawed", rewards, **fields)["sound"]
    return shaped, probe.advantages("grpo(beta=0)+fapo-flawed", rewards, shaped=True, **fields)


def test_flawed_answers_help_early_and_hurt_late():
    shaped, early = advantages(2, 2, 4)
    assert shaped.tolist() == [1, 1, 0, 0, -1, -1, -1, -1]
    assert early[2] * (8 / 7) ** 0.5 == approx(0.3015, abs=1e-3)
    _, late = advantages(3, 4, 1)
    assert late[4] * (8 / 7) ** 0.5 == approx(-0.378, abs=1e-3)


def test_a_task_without_steps_has_no_flaws():
    fields = {"group": [0, 0], "reward_names": ["correct", "steps"]}
    assert probe.rewards("fapo-flawed", [[1, None], [0, None]], **fields)["sound"].tolist() == [1, -1]
