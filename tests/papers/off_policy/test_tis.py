import math

import numpy as np
import pytest

from harness import probe

NAN = float("nan")
LN4 = math.log(4)
FIELDS = {"logp": [[0.1, -0.2], [0.3, 0.0]], "logp_old": [[0.0, 0.0]] * 2, "advantages": [1.0, -1.0],
          "mask": [[1, 1], [1, 0]]}  # fmt: skip


def factors(sampler, **params):
    """What each token's gradient is multiplied by."""
    stack = f"grpo(beta=0)+tis({', '.join(f'{k}={v!r}' for k, v in params.items() if k != 'age')})"
    more = {"age": params["age"]} if "age" in params else {}
    weighted = probe.token_loss(stack, **FIELDS, logp_sampler=sampler, **more)[1]
    return weighted[:, :1] / probe.token_loss("grpo(beta=0)", **FIELDS)[1][:, :1]


def test_a_weight_beyond_the_cap_is_the_cap():
    assert factors([[-LN4, 0], [LN4, 0]]).ravel() == pytest.approx([2, 0.25])
    assert factors([[-LN4, 0], [LN4, 0]], floor=0.5).ravel() == pytest.approx([2, 0.5])


def test_the_product_of_a_completion_counts_masked_tokens_not():
    assert factors([[-0.2, -0.1], [0.1, 5.0]], level="sequence").ravel() == pytest.approx(np.exp([0.3, -0.1]))
    assert factors([[-0.2, -0.1], [0.1, 5.0]], level="geometric").ravel() == pytest.approx(np.exp([0.15, -0.1]))


def test_unknown_probabilities_and_fresh_rows_keep_weight_1():
    assert factors([[NAN, 0], [-0.3, 0]]).ravel() == pytest.approx([1, math.exp(0.3)])
    assert factors([[-0.3, 0], [-0.3, 0]], stale_only=True, age=[0, 2]).ravel() == pytest.approx([1, math.exp(0.3)])


def test_normalised_weights_average_to_1():
    assert factors([[-LN4, 0], [0, 0]], cap=4.0, normalize=True).ravel() == pytest.approx([2, 0.5])


def test_kl_terms_are_not_weighted():
    base = probe.regularizer("grpo", **FIELDS, logp_ref=[[-0.1, 0], [0, 0]])
    found = probe.regularizer("grpo+tis", **FIELDS, logp_ref=[[-0.1, 0], [0, 0]], logp_sampler=[[-LN4, 0], [0, 0]])
    assert found[0] == base[0] > 0
