from harness import probe
from tests.papers.worked import ONE_OF_FOUR, advantages, approx


def test_the_baseline_lies_below_the_mean():
    assert advantages("asymre", ONE_OF_FOUR).tolist() == approx([0.85, -0.15, -0.15, -0.15])
    assert advantages("asymre(shift=0)", ONE_OF_FOUR) == approx(advantages("dr-grpo", ONE_OF_FOUR))


def test_equal_rewards_and_single_answers():
    assert advantages("asymre", [0.3, 0.3]).tolist() == approx([0.1, 0.1])
    assert advantages("asymre", [0.3]).tolist() == approx([0.1])
    assert advantages("asymre(single='raw')", [0.3]).tolist() == [0.3]


def test_no_ratio_enters():
    _, gradient = probe.token_loss("asymre", logp=[[-1.0]], logp_old=[[-3.0]], advantages=[0.5], mask=[[1]])
    assert gradient.tolist() == [[-0.5]]
