from harness import probe
from tests.papers.worked import advantages, approx


def test_tokens_are_counted():
    got = advantages("reinforce-pp", [1.0, 0.0], [0, 1], mask=[[1, 0, 0], [1, 1, 1]])
    assert got[0, 0] == approx(1.5)
    assert got[1].tolist() == approx([-0.5, -0.5, -0.5])
    assert got.sum() == approx(0, abs=1e-9)


def test_equal_returns_and_a_single_token_give_nothing():
    assert not advantages("reinforce-pp", [0.3, 0.3], mask=[[1, 1], [1, 0]]).any()
    assert not advantages("reinforce-pp", [0.3], mask=[[1]]).any()


def test_a_group_that_is_all_right_gains_where_others_fail():
    got = advantages("reinforce-pp", [1.0, 1.0, 0.0, 0.0], [0, 0, 1, 1], mask=[[1]] * 4)
    assert got.reshape(-1).tolist() == approx([0.866, 0.866, -0.866, -0.866], abs=1e-3)


def test_the_kl_penalty_sits_on_the_tokens():
    fields = {"mask": [[1, 1, 0]], "logp_old": [[-1.0, -2.0, -9.0]], "logp_ref": [[-1.5, -1.0, 0.0]]}
    columns = probe.rewards("reinforce-pp(beta=0.1)", [1.0], [0], **fields)
    assert columns["kl"][0].tolist() == approx([0.5, -1.0, 0.0])
    assert probe.weights("reinforce-pp", [[1, 1, 0], [1, 0, 0]]).sum(1).tolist() == approx([2 / 3, 1 / 3])
