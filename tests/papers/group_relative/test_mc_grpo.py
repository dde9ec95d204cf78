import torch
from harness_papers.group_relative.mc_grpo import MCGRPO

from tests.batches import make_batch
from tests.papers.worked import advantages, approx


def test_the_median_is_the_baseline():
    assert advantages("mc-grpo", [1.0, 0.5, 0.0]).tolist() == approx([1.5 * 0.998, 0, -1.5 * 0.998], abs=1e-3)


def test_binary_rewards_blow_up_as_published():
    assert advantages("mc-grpo", [1.0, 0.0, 0.0]).tolist() == approx([3000.0, 0, 0])
    assert advantages("mc-grpo(mad_floor=0.999)", [1.0, 0.0, 0.0]).tolist() == approx([3.0, 0, 0])
    assert advantages("mc-grpo(rescale=False)", [1.0, 0.0, 0.0]).tolist() == approx([1000.0, 0, 0])


def test_the_median_is_not_trained_on():
    batch = make_batch([0.1, 0.9, 0.5, 0.3, 0.3, 0.7], [0, 0, 0, 1, 1, 2])
    assert MCGRPO().train_on(batch).tolist() == [True, True, False, False, True, True]
    assert not MCGRPO().estimate_advantages(make_batch([0.3] * 3)).any()
    assert torch.equal(MCGRPO().train_on(make_batch([0.3] * 3)), torch.tensor([True, False, True]))
