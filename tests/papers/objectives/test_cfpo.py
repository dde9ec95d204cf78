import pytest

from harness import probe

FIELDS = {"logp": [[-0.9, -2.1]], "logp_old": [[-1.0, -2.0]], "advantages": [0.7], "mask": [[1, 1]]}


def test_it_is_spo_on_any_host():
    ours, theirs = (probe.token_loss(f"{base}+cfpo(eps=0.3)", **FIELDS) for base in ("grpo(beta=0)", "rloo(beta=0)"))
    spo = probe.token_loss("spo-simple(eps=0.3)", **FIELDS)
    assert ours[0] == pytest.approx(theirs[0])
    assert ours[1] == pytest.approx(spo[1])


def test_the_host_keeps_its_aggregation():
    mask = [[1, 1, 0], [1, 1, 1]]
    assert probe.weights("rloo+cfpo", mask) == pytest.approx(probe.weights("rloo", mask))
