"""pass@k against counting by hand, and the report."""

import itertools

import pytest

from harness.errors import UsageError
from harness.evaluation.report import EvalReport, pass_at_k


@pytest.mark.parametrize("n", range(1, 7))
def test_pass_at_k_is_the_share_of_subsets_with_a_right_sample(n):
    for correct in range(n + 1):
        samples = [1] * correct + [0] * (n - correct)
        for k in range(1, n + 1):
            subsets = list(itertools.combinations(samples, k))
            assert pass_at_k(n, correct, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


def test_pass_at_k_of_many_samples_does_not_overflow():
    assert pass_at_k(100_000, 10, 100) == pytest.approx(1 - (1 - 1e-4) ** 100, rel=1e-2)


@pytest.mark.parametrize(("n", "k"), [(3, 4), (0, 1), (4, 0), (4, -1)])
def test_too_few_samples_are_refused(n, k):
    with pytest.raises(UsageError, match=f"pass@{k} needs"):
        pass_at_k(n, 0, k)


def test_more_correct_than_samples_is_refused():
    with pytest.raises(UsageError, match="5 correct of 4"):
        pass_at_k(4, 5, 2)


def test_the_score_is_the_mean_of_pass_at_1():
    report = EvalReport({"a": {"pass_at_1": 0.25}, "b": {"pass_at_1": 0.5}})
    assert report.score == 0.375
    assert report.summary() == {"tasks": {"a": {"pass_at_1": 0.25}, "b": {"pass_at_1": 0.5}}, "score": 0.375}
