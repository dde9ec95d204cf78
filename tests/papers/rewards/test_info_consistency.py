import math

import pytest
import torch
from harness_papers.rewards.info_consistency import token_information

from harness import probe
from tests.batches import make_batch

approx = pytest.approx
IDS = [[1, 2, 1, 2], [1, 1, 1, 1], [1, 2, 2, 1], [1, 2, 3, 4]]
H = [math.log(2), 0, math.log(2), math.log(4)]


def consistent(wording=(0, 0, 1, 1), **params):
    fields = {"completion_ids": IDS, "lengths": [4] * 4, "wording": list(wording), "params": params, "prompt": [0] * 4}
    return probe.rewards("info-consistency", [0.0] * 4, [0] * 4, **fields)["consistent"]


def test_information_of_token_frequencies():
    batch = make_batch([0.0] * 4, lengths=[4, 4, 4, 4], completion_ids=torch.tensor(IDS))
    assert token_information(batch).tolist() == approx(H)
    batch = make_batch([0.0] * 2, lengths=[2, 0], completion_ids=torch.tensor(IDS[:2]), tokens=4)
    assert token_information(batch).tolist() == approx([math.log(2), 0])


def test_rich_and_as_rich_as_the_twin():
    gaps = [0, math.log(4), 0, math.log(4)]
    rich = [0.5, 0, 0.5, 1]
    expected = [0.5 * r + 0.5 * (1 - gap / 2) for r, gap in zip(rich, gaps, strict=True)]
    assert consistent() == approx(expected)
    assert consistent(beta=0.0, alpha=1.0) == approx(rich)


def test_the_mean_of_all_gaps_cancels_in_the_group():
    fields = {"completion_ids": IDS, "lengths": [4] * 4, "wording": [0, 0, 1, 1], "prompt": [0] * 4, "shaped": True}
    apart = [
        probe.advantages(f"info-consistency(gap='mean', beta={beta})", [0.0] * 4, [0] * 4, **fields)
        for beta in (0, 0.5)
    ]
    assert apart[0] == approx(apart[1])


def test_one_wording_has_no_twins():
    assert consistent((0,) * 4, alpha=0.0) == approx([0.5] * 4)
