import pytest
import torch

from harness import PolicyOutput
from harness.host import build_stack
from tests.batches import make_batch
from tests.papers.steps import begun, take


def flow(stack="flowrl", log_z=0.0, moved=0.0, advantages=(1.0, -1.0), lengths=(2, 1)):
    batch = make_batch([1.0, 0.0], lengths=lengths, tokens=2)
    batch = batch.replace(advantages=torch.tensor(advantages, dtype=torch.float64)[:, None])
    logp = (batch.logp_ref + moved).requires_grad_()
    z = torch.full((2,), log_z, dtype=torch.float64).requires_grad_()
    output = PolicyOutput(logp=logp, logp_old=logp.detach() - 1, mask=batch.mask, modules={"log_z": z})
    hooks = build_stack(stack).caller()
    loss = hooks.loss(batch=batch, output=output)
    return loss.item(), *torch.autograd.grad(loss, (logp, z))


def test_the_residual_is_weighed_by_the_whole_completions_ratio():
    loss, slope, of_z = flow("flowrl(cap=5.0)")
    weights = 5.0, 2.718281828
    assert loss == pytest.approx((weights[0] + weights[1]) / 2 * 225)
    assert of_z.tolist() == pytest.approx([-15 * weights[0], 15 * weights[1]])
    assert slope[0].tolist() == pytest.approx([of_z[0].item() / 2] * 2)
    assert flow("flowrl(cap=None)")[0] == pytest.approx((7.389056 + weights[1]) / 2 * 225)


def test_the_target_is_the_tilted_reference():
    assert flow("flowrl(beta=2.0)", log_z=1.0, moved=1.0, advantages=(1.0, 1.0))[0] == pytest.approx(0)
    assert flow(lengths=(0, 0))[0] == 0


def test_the_partition_function_learns_without_touching_the_policy():
    trial = begun("flowrl")
    before = [p.detach().clone() for p in trial.context.state.modules["log_z"].parameters()]
    assert take(trial)[0]["loss"] > 0
    after = list(trial.context.state.modules["log_z"].parameters())
    assert any(not torch.equal(a, b) for a, b in zip(after, before, strict=True))
    assert trial.context.ledger.categories["module:log_z"] > 0
