import numpy as np

from harness import probe
from tests.papers.worked import ONE_OF_FOUR, advantages, approx


def clipped(ratios):
    mask = [[1.0] * len(ratios)]
    fields = {"logp": np.log([ratios]), "logp_old": np.zeros((1, len(ratios))), "advantages": [1.0], "mask": mask}
    return probe.token_loss("rloo(clip=0.2)", **fields)


def test_the_siblings_are_the_baseline():
    assert advantages("rloo(beta=0)", ONE_OF_FOUR).tolist() == approx([1, -1 / 3, -1 / 3, -1 / 3])
    rewards = [0.3, 0.9, -0.4, 0.1]
    assert advantages("rloo", rewards) == approx(4 / 3 * advantages("dr-grpo", rewards))


def test_equal_rewards_and_single_answers_give_nothing():
    assert not advantages("rloo", [0.3] * 3).any()
    assert not advantages("rloo", [0.3]).any()


def test_normalized_over_the_batch():
    got = advantages("rloo(normalize=True)", [1.0, 0.0, 3.0, 0.0], [0, 0, 1, 1])
    assert got.sum() == approx(0, abs=1e-9)
    assert got.std(ddof=1) == approx(1, abs=1e-3)


def test_the_loss_of_trl_clips_the_product_of_ratios():
    loss, gradient = clipped([1.1, 1.2])
    assert loss.sum() == approx(-1.2)
    assert gradient.sum() == 0
    loss, gradient = clipped([1.1, 1.05])
    assert loss.sum() == approx(-1.155)
    assert gradient[0].tolist() == approx([-1.155, -1.155])


def test_the_kl_penalty_sits_on_the_tokens():
    fields = {"mask": [[1, 1, 0]], "logp_old": [[-1.0, -2.0, -9.0]], "logp_ref": [[-1.5, -1.0, 0.0]]}
    columns = probe.rewards("rloo(beta=0.1)", [1.0], [0], **fields)
    assert columns["kl"][0].tolist() == approx([0.5, -1.0, 0.0])
