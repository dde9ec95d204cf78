from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from harness.tracking.names import LONGEST, decode, encode

PLAIN = ["score", "delta_low", "eval/math/pass_at_1", "cost/tokens_generated", "reward/exact.match"]


@pytest.mark.parametrize("name", PLAIN)
def test_ordinary_names_stay_as_they_are(name):
    assert encode(name) == name


@pytest.mark.parametrize(
    "name", ["pass@1", "a(b)", "a,b", "//a", "a/../b", "/a", "a/", "timing(s)/gen", "dapo+f-grpo/x", " ", ""]
)
def test_names_that_mlflow_refuses_are_mapped_and_come_back(name):
    from mlflow.utils.validation import _validate_metric_name

    _validate_metric_name(encode(name))
    assert decode(encode(name)) == name


@given(some.text(max_size=60))
def test_any_name_is_accepted_and_reversible(name):
    from mlflow.utils.validation import _validate_metric_name

    written = encode(name)
    _validate_metric_name(written)
    if len(written) < LONGEST:
        assert decode(written) == name


@given(some.lists(some.text(min_size=200, max_size=300), min_size=2, max_size=5, unique=True))
def test_long_names_stay_within_the_limit_and_apart(names):
    written = [encode(name) for name in names]
    assert all(len(name) <= LONGEST for name in written)
    assert len(set(written)) == len(names)
