import pytest
import torch

from harness import PolicyOutput
from harness.host import build_stack
from tests.batches import make_batch
from tests.papers.worked import surrogate


def test_the_gradient_is_less_by_the_penalty():
    assert surrogate("r2vpo", 1.5, 1.0) == pytest.approx((-1.49, -1.44))
    assert surrogate("r2vpo", 1.5, 0.0) == pytest.approx((0.01, 0.06)), "drawn to 1 even so"
    assert surrogate("r2vpo(lam=0.0)", 3.0, 1.0) == pytest.approx((-3, -3))


def test_the_multiplier_follows_the_excess():
    stack = build_stack("r2vpo(lam=0.04, delta=0.01, dual_lr=0.5)")
    hooks = stack.caller()
    hooks.start(run=None)
    batch = make_batch(lengths=[2, 2, 2, 2]).replace(advantages=torch.zeros(4, 1, dtype=torch.float64))
    for ratio, expected in ((1.3, 0.04 + 0.5 * (0.09 - 0.01)), (1.0, 0.08 - 0.005)):
        output = PolicyOutput(logp=batch.logp_old + torch.tensor(ratio).log(), logp_old=batch.logp_old, mask=batch.mask)
        hooks.policy_loss(batch=batch, output=output)
        assert hooks.end_step(batch=batch, metrics={})["r2vpo_multiplier"] == pytest.approx(expected)


def test_a_multiplier_of_a_quiet_run_ends_at_0():
    hooks = build_stack("r2vpo(lam=0.001, dual_lr=1.0)").caller()
    hooks.start(run=None)
    batch = make_batch(lengths=[1, 1, 1, 1]).replace(advantages=torch.zeros(4, 1, dtype=torch.float64))
    hooks.policy_loss(batch=batch, output=PolicyOutput(logp=batch.logp_old, logp_old=batch.logp_old, mask=batch.mask))
    assert hooks.end_step(batch=batch, metrics={})["r2vpo_multiplier"] == 0
