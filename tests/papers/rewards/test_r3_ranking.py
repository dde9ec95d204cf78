import pytest
import torch
from harness_papers.rewards.r3_ranking import peak_mean

from harness import probe

approx = pytest.approx
# Of peaks 3, 2, 1 and means 0.6, 0.8, 0.96.
ENTROPY = [[3.0, 0, 0, 0, 0], [2.0, 0.5, 1.5, 0, 0], [1.0, 1.0, 1.0, 0.9, 0.9]]


def ranked(entropy=ENTROPY, truncated=(True,) * 3, group=None, **params):
    rows = len(entropy)
    fields = {"entropy": entropy, "truncated": list(truncated), "lengths": [5] * rows, "mask": [[1] * 5] * rows}
    group = [0] * rows if group is None else group
    return probe.rewards("r3-ranking", [0.0] * rows, group, params=params, **fields)["entropy_rank"]


def test_high_peaks_and_a_low_mean_rank_first():
    assert ranked() == approx([0.1, 0.05, 0])
    assert ranked(most=1.0)[0] == 1


def test_ties_share_and_others_are_not_ranked():
    assert ranked([[1.0] * 5] * 3) == approx([0.05] * 3)
    assert ranked(truncated=(True, False, True)) == approx([0.1, 0, 0])
    assert ranked(truncated=(False, True, False)) == approx([0, 0.1, 0])
    assert ranked(truncated=(False,) * 3, on="failed")[0] == approx(0.1)
    assert ranked(group=[0, 1, 2]) == approx([0.1] * 3)


def test_the_peak_is_a_mean_of_the_largest():
    entropy, mask = (
        torch.tensor([[1.0, 5.0, 3.0, 9.0], [1.0, 2.0, 3.0, 4.0]]),
        torch.tensor([[1, 1, 1, 0], [0, 0, 0, 0]]),
    )
    assert peak_mean(entropy, mask, 0.7).tolist() == approx([4, 0])
    assert peak_mean(entropy, mask, 0.1).tolist() == approx([5, 0])
