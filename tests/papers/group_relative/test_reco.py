import numpy as np

from harness import probe
from tests.papers.worked import advantages, approx


def test_likely_completions_weigh_less():
    logp = np.log([[0.5, 0.5], [0.25, 1.0]])
    got = advantages("reco", [1.0, 0.0], logp_old=logp, mask=[[1, 1], [1, 0]])
    assert (got / advantages("grpo", [1.0, 0.0])).tolist() == approx([2 / 3, 4 / 3])
    same = advantages("reco", [1.0, 0.0], logp_old=np.log([[0.5], [0.5]]), mask=[[1], [1]])
    assert same == approx(advantages("grpo", [1.0, 0.0]))


def moved(new, old, advantage=1.0, **params):
    fields = {"logp": np.log([[new]]), "logp_old": np.log([[old]]), "advantages": [advantage], "mask": [[1]]}
    loss, gradient = probe.token_loss("reco", params=params or None, **fields)
    return loss[0, 0], gradient[0, 0]


def test_the_ratio_of_variances_clips_and_weighs():
    assert moved(0.5, 0.4) == approx((-0.25 / 0.24, -0.25 / 0.24))
    assert moved(0.5, 0.1) == approx((-1.2, 0.0))
    assert moved(0.9, 0.5) == approx((-0.36, -0.36))


def test_without_either_part_it_is_grpo():
    assert moved(0.5, 0.4, variance=False) == approx((-1.2, 0.0))
    assert advantages("reco(reweight=False)", [1.0, 0.0]) == approx(advantages("grpo", [1.0, 0.0]))
