import numpy as np
import pytest

from harness import probe
from harness.errors import HarnessError

approx = pytest.approx
V = np.log([0.2, 0.9, 1.0, 1.0])


def traced(values=V, steps=(0, 1, 2), **params):
    """What is added to the advantage of one completion, a token a step."""
    fields = {"lengths": [3, 3], "mask": [[1] * 3] * 2, "step": [list(steps)] * 2}
    fields |= {"value_before": [list(values[:-1])] * 2, "value_after": [list(values[1:])] * 2}
    found = probe.advantages("sspo-selftraced", [1.0, 0.0], [0, 0], params=params, **fields)
    base = probe.advantages("grpo(beta=0)", [1.0, 0.0], [0, 0])
    return found[0] - base[0]


def test_a_step_after_the_answer_is_settled_is_discouraged():
    assert traced() == approx(np.array([1, 1, -1]) * 0.5 / 3)
    assert traced(beta=1.0) == approx(np.array([1, 1, -1]) / 3)


def test_a_fall_is_discouraged_and_what_is_not_known_is_left_alone():
    assert traced(np.log([0.5, 0.3, 0.31, 0.5])) == approx(np.array([-1, 0, 1]) * 0.5 / 3)
    assert traced([np.nan] * 4) == approx([0, 0, 0])
    assert traced(np.log([0.5, 0.7, 0.7, 0.7]), steps=(0, 0, 0))[0] == approx(0.5)
    with pytest.raises(HarnessError, match="sspo-selftraced needs"):
        probe.advantages("sspo-selftraced", [1.0, 0.0], [0, 0])
