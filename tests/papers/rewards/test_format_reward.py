from types import SimpleNamespace

import pytest
import torch
from harness_papers.rewards.format_reward import FormatReward

WHOLE = "<think>\na\n</think>\n<answer>\nb\n</answer>"


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        ("think", "<think>a</think>b", 1),
        ("think", "a<think>b</think>", 0),
        ("think", "<think>a<think>b</think>", 0),
        ("think", "<think>a", 0),
        ("think", "", 0),
        ("answer", WHOLE, 1),
        ("answer", f"{WHOLE} ", 0),
        ("tags", WHOLE, 1),
        ("tags", "<think>\na\n</think>\n", 0.5),
        ("tags", WHOLE + WHOLE, 0),
    ],
)
def test_rules(rule, text, expected):
    assert FormatReward(rule=rule).rate(text) == expected


def test_any_pattern_and_a_prefix_of_the_template():
    assert FormatReward(rule="pattern", pattern=r"#-?\d+").rate("#42") == 1
    assert FormatReward(rule="pattern", pattern=r"#-?\d+").rate("#42.") == 0
    assert FormatReward(prefix="<think>").rate("a</think>b") == 1


def test_the_column_is_weighted():
    rollouts = SimpleNamespace(texts=("<think>a</think>b", "b"), logp=torch.zeros(2, 3))
    assert FormatReward(weight=0.25).score(rollouts)["form"].tolist() == [0.25, 0]
