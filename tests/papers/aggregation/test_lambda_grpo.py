import numpy as np
import pytest
import torch
from harness_papers.aggregation.lambda_grpo import LambdaGRPO

from harness import PolicyOutput, probe
from tests.batches import make_batch

FIELDS = {"logp": np.zeros((4, 3)), "logp_old": np.zeros((4, 3)), "advantages": [1.0, -1.0, 2.0, 0.5],
          "mask": [[1, 0, 0], [1, 1, 1], [1, 1, 0], [1, 1, 0]], "group": [0, 0, 1, 1]}  # fmt: skip


def gradient(stack):
    return probe.objective(stack, **FIELDS)[1]


def test_0_is_a_token_mean():
    np.testing.assert_allclose(gradient("lambda-grpo(initial=0.0)"), gradient("token-mean"))


def test_long_or_short_completions_weigh_more_and_a_group_as_much_as_before():
    for exponent in (2.0, -2.0):
        factor = gradient(f"lambda-grpo(initial={exponent}, spread=0.3)")[:, 0] / gradient("token-mean")[:, 0]
        assert factor[:2].sum() == pytest.approx(2)
        assert (factor[1] > factor[0]) == (exponent > 0)
        assert factor[2:] == pytest.approx([1, 1])  # equal lengths


def test_worked_example():
    height = np.array([1 - 0.3 * 2**-0.5, 1 + 0.3 * 2**-0.5])
    share = np.exp(height) / np.exp(height).sum()
    factor = gradient("lambda-grpo(spread=0.3)")[:, 0] / gradient("token-mean")[:, 0]
    assert factor[:2] == pytest.approx(2 * share, abs=1e-6)


def test_the_loss_trains_the_exponent_and_empty_groups_break_nothing():
    batch = make_batch([1, 0, 0, 1], [0, 0, 1, 1], [1, 3, 0, 0])
    module = LambdaGRPO().build()["length_preference"].module
    output = PolicyOutput(
        batch.logp_old, batch.logp_old, batch.mask, modules={"length_preference": module(batch, None)}
    )
    wrapper = LambdaGRPO().policy_loss(batch, output)
    next(wrapper)
    with pytest.raises(StopIteration) as stop:
        wrapper.send(torch.ones_like(batch.mask) * torch.tensor([[1.0], [-1.0], [0], [0]]))
    (stop.value.value * batch.mask).sum().backward()
    assert module.value.grad.isfinite()
    assert module.value.grad < 0


def test_a_group_that_leaves_the_loss_whole_leaves_the_exponent_s_gradient_whole():
    batch = make_batch([1, 0, 0, 1], [0, 0, 1, 1], [1, 3, 2, 2])
    left = batch.replace(mask=batch.mask * torch.tensor([[1.0], [1.0], [0.0], [0.0]]))
    slopes = [slope_of_the_exponent(one) for one in (left, batch[torch.tensor([0, 1])])]
    assert slopes[0] == pytest.approx(slopes[1])
    assert slopes[0] != 0


def slope_of_the_exponent(batch):
    """Of token losses of 1, minus 1, 2, 3 in the rows, averaged over the tokens that train."""
    module = LambdaGRPO().build()["length_preference"].module
    output = PolicyOutput(
        batch.logp_old, batch.logp_old, batch.mask, modules={"length_preference": module(batch, None)}
    )
    wrapper = LambdaGRPO().policy_loss(batch, output)
    next(wrapper)
    with pytest.raises(StopIteration) as stop:
        wrapper.send(torch.ones_like(batch.mask) * torch.tensor([[1.0], [-1.0], [2.0], [3.0]])[: len(batch)])
    weighted = torch.where(batch.mask > 0, stop.value.value, torch.zeros_like(batch.mask))
    (weighted.sum() / batch.mask.sum()).backward()
    return float(module.value.grad)
