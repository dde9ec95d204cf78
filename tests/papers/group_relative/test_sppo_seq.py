import math
from types import SimpleNamespace

import torch
from harness_papers.group_relative.sppo_seq import SPPOSequence

from tests.batches import make_batch
from tests.papers.worked import advantages, approx


def test_the_outcome_minus_its_prediction():
    assert advantages("sppo-seq", [1.0, 0.0]).tolist() == [0.5, -0.5]
    assert advantages("sppo-seq", [1.0, 0.0], prompt_value=[math.log(3)] * 2).tolist() == approx([0.25, -0.75])
    assert advantages("sppo-seq", [1.0], prompt_value=[0.0]).tolist() == [0.5]


def test_the_critic_learns_the_solve_rate():
    plugin, batch = SPPOSequence(), make_batch([1.0, 0.0, 0.0, 3.0], lengths=[1, 2, 1, 0])
    values = torch.zeros(4, 2, dtype=torch.float64, requires_grad=True)
    output = SimpleNamespace(modules={"prompt_value": values}, logp=values)
    loss = plugin.regularize(batch, output)
    assert loss.item() == approx(math.log(2))
    (slope,) = torch.autograd.grad(loss, values)
    assert slope[:, 0].tolist() == approx([-0.125, 0.125, 0.125, -0.125])
    assert not slope[:, 1].any()


def test_the_value_is_that_before_the_first_token():
    plugin, batch = SPPOSequence(), make_batch([1.0, 0.0], lengths=[2, 1])
    found = torch.tensor([[0.5, 9.0], [0.25, 9.0]])
    policy = SimpleNamespace(evaluate=lambda _: SimpleNamespace(modules={"prompt_value": found}))
    assert plugin.annotate(batch, policy)["prompt_value"].tolist() == [0.5, 0.25]
