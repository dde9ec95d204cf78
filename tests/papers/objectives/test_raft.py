from harness import probe
from tests.papers.worked import ONE_OF_FOUR, advantages, approx

FIELDS = {
    "logp": [[-0.5, -1.0], [-0.25, -2.0]], "logp_old": [[-0.5, -1.0], [-0.25, -2.0]], "group": [0, 0],
    "mask": [[1.0, 1.0], [1.0, 0.0]],
}  # fmt: skip


def test_what_was_rewarded_is_kept():
    assert advantages("raft", ONE_OF_FOUR).tolist() == [1, 0, 0, 0]
    assert advantages("raft", [1.0, -1.0, -1.0, 1.0]).tolist() == [1, 0, 0, 1]
    formatted = [[1.0, 0.2], [0.0, 0.2]]  # a wrong answer in the right format
    assert advantages("raft", formatted).tolist() == approx([1.2, 0.2])
    assert advantages("raft(only_correct=True)", formatted).tolist() == approx([1.2, 0.0])


def test_weighted_cross_entropy_over_all_tokens():
    value, gradient = probe.loss("raft", rewards=[1.0, -1.0], **FIELDS)
    assert value == approx(1.5 / 3)
    assert gradient.tolist() == [approx([-1 / 3, -1 / 3]), [0, 0]]


def test_or_over_accepted_tokens():
    value, _ = probe.loss("raft(only_accepted=True)", rewards=[1.0, -1.0], **FIELDS)
    assert value == approx(1.5 / 2)
    value, gradient = probe.loss("raft(only_accepted=True)", rewards=[-1.0, -1.0], **FIELDS)
    assert value == 0
    assert not gradient.any()
