import pytest
import torch
from harness_papers.preference.drpo_doubly_robust import NAME, DRPODoublyRobust

from harness import PolicyOutput
from tests.batches import make_batch


def slope(scores, rewards=(1.0, 0.0, 0.5, 0.0), moved=0.0, **params):
    """The gradient [N] of the log-probability of completions of one token; rows 0 and 2 are logged."""
    zeros = torch.zeros(4, 1, dtype=torch.float64)
    fields = {"logp_old": zeros, "logp_ref": zeros, "logp_sampler": zeros - moved}
    batch = make_batch(list(rewards), lengths=[1] * 4, **fields)
    logp = zeros.clone().requires_grad_()
    modules = {NAME: torch.tensor(scores, dtype=torch.float64)[:, None]}
    output = PolicyOutput(logp=logp, logp_old=zeros, mask=batch.mask, modules=modules)
    DRPODoublyRobust(**params).loss(batch, output).backward()
    return logp.grad[:, 0]


def test_an_ignorant_model_leaves_the_correction_only():
    assert slope([0.0] * 4) == pytest.approx([-0.25, 0, 0.25, 0])


def test_a_perfect_model_leaves_no_correction():
    found = slope([50.0, 0.0, 0.0, -50.0])
    assert found[[0, 2]] == pytest.approx([0, 0], abs=1e-9)
    assert found[[1, 3]] == pytest.approx([(0.5 + 0) / 4, (0.5 + 0.5) / 4]), "fresh answers lose against logged ones"
    assert slope([50.0, 0.0, 0.0, -50.0], baseline=False)[1] == pytest.approx(-0.5 / 4)


def test_the_correction_is_weighted_within_a_cap():
    assert slope([0.0] * 4, moved=1.0)[0] == pytest.approx(-0.25 * 2.718281828)
    assert slope([0.0] * 4, moved=9.0)[0] == pytest.approx(-2.5)
    assert slope([0.0] * 4, moved=9.0, cap=1.0)[0] == pytest.approx(-0.25)


def test_the_model_learns_the_order_of_rewards():
    batch = make_batch([1.0, 0.0], lengths=[1, 1])
    scores = torch.zeros(2, 1, requires_grad=True)
    output = PolicyOutput(logp=batch.logp_old, logp_old=batch.logp_old, mask=batch.mask, modules={NAME: scores})
    DRPODoublyRobust().regularize(batch, output).backward()
    assert scores.grad[:, 0].tolist() == pytest.approx([-0.5, 0.5])
