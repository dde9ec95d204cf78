import pytest

from harness import probe

approx = pytest.approx
VECTORS = [[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]]


def test_different_solutions_earn_more():
    fields = {"rewards": [1.0] * 3, "group": [0] * 3, "embeddings": VECTORS}
    assert probe.rewards("dra-grpo", **fields)["diverse"] == approx([0.5, 0.5, 1], abs=1e-5)
    found = probe.advantages("grpo(beta=0)+dra-grpo", shaped=True, **fields)
    assert found == approx([-0.577, -0.577, 1.155], abs=1e-3)


def test_similarity_is_within_the_group_and_one_alone_keeps_its_reward():
    fields = {"rewards": [1.0] * 3, "group": [0, 1, 2], "embeddings": VECTORS}
    assert probe.rewards("dra-grpo", **fields)["diverse"] == approx([1, 1, 1], abs=1e-5)


def test_without_an_encoder_tokens_are_compared():
    ids = [[1, 2, 3, 4], [1, 2, 3, 4], [5, 6, 7, 8], [0, 0, 0, 0]]
    found = probe.rewards("dra-grpo", [1.0] * 4, [0] * 4, completion_ids=ids, lengths=[4, 4, 4, 0])["diverse"]
    assert found == approx([0.5, 0.5, 1, 1], abs=0.05)


def test_opposite_embeddings_stay_finite():
    fields = {"rewards": [1.0, 1.0], "group": [0, 0], "embeddings": [[1.0], [-1.0]]}
    assert (probe.rewards("dra-grpo", **fields)["diverse"] > 0).all()
