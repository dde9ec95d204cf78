from types import SimpleNamespace

import pytest
import torch

from harness import PolicyOutput
from harness.host import build_stack
from tests.batches import make_batch


def lived(entropies, **params):
    """(the coefficient that each step uses, that which the last leaves) for steps of these mean entropies."""
    written = ", ".join(f"{name}={value!r}" for name, value in params.items())
    stack = build_stack(f"adaptive-entropy({written})")
    hooks, plugin = stack.caller(SimpleNamespace(hook="start", step=0)), dict(stack.plugins)["adaptive-entropy"]
    hooks.start(run=None)
    used = []
    for entropy in entropies:
        batch = make_batch()
        batch = batch.replace(entropy=torch.full_like(batch.mask, entropy))
        batch = batch.with_extras(**hooks.annotate(batch=batch, policy=None))
        leaf = batch.entropy.clone().requires_grad_()
        output = PolicyOutput(batch.logp_old, batch.logp_old, batch.mask, entropy=leaf)
        batch = batch.replace(weights=hooks.aggregate(batch=batch))
        ((_, term),) = [found for found in hooks.regularize(batch=batch, output=output) if found[0] != "grpo"]
        used.append(-torch.autograd.grad(term, leaf)[0].sum().item())
        hooks.end_step(batch=batch, metrics={})
    return used, plugin.coef


def test_twice_below_the_target():
    used, coef = lived([0.1, 0.1])
    assert used == pytest.approx([0, 0.005])
    assert coef == pytest.approx(0.01)


def test_above_the_target_it_is_off_and_falls():
    used, coef = lived([0.1, 0.1, 0.3, 0.1])
    assert used == pytest.approx([0, 0.005, 0, 0.005])
    assert coef == pytest.approx(0.01)


def test_the_switch_may_lag_a_step():
    used, _ = lived([0.1, 0.3, 0.1, 0.3], when="next")
    assert used == pytest.approx([0, 0.005, 0, 0.005])


def test_it_stays_within_its_bounds():
    assert lived([0.1] * 4, delta=0.4, most=1.0)[1] == 1
    assert lived([9.0] * 3)[1] == 0
