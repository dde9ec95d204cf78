from types import SimpleNamespace

import pytest
import torch
from harness_papers.optimizers.capo_curvature import Adam, shifts

from harness.batch import TopLogits
from tests.batches import make_batch
from tests.papers.steps import begun, take

VOCABULARY, WIDTH = 5, 3


@pytest.fixture(scope="module")
def case():
    """One token, and the whole vocabulary listed: everything can be compared with a head written out."""
    noise = torch.Generator().manual_seed(0)
    batch = make_batch([1.0], lengths=[1], completion_ids=torch.tensor([[2]]))
    batch = batch.replace(advantages=torch.tensor([[0.7]], dtype=torch.float64))
    hidden = torch.randn(1, 1, WIDTH, dtype=torch.float64, generator=noise)
    head = torch.randn(VOCABULARY, WIDTH, dtype=torch.float64, generator=noise)
    logp = (hidden[0, 0] @ head.T).log_softmax(0)
    top = TopLogits(ids=torch.arange(VOCABULARY)[None, None], logp=logp[None, None])
    return batch, SimpleNamespace(hidden=hidden, logp=logp[2][None, None], top_logits=top), head


def objective(head, batch, output):
    return 0.7 * (output.hidden[0, 0] @ head.T).log_softmax(0)[2]


def test_plain_descent_is_taylor_s_second_order(case):
    batch, output, head = case
    lr, flat = 1e-3, head.reshape(-1)

    def along(weights):
        return objective(weights.reshape(head.shape), batch, output)

    slope = torch.autograd.functional.jacobian(along, flat)
    hessian = torch.autograd.functional.hessian(along, flat)
    moved, bent = shifts(batch, output, None, lr)
    # A ((v.u)^2 - spread) has the sampled score's square besides the Hessian, whose part is -A spread.
    chances, step = output.top_logits.logp[0, 0].exp(), slope.reshape(head.shape) @ output.hidden[0, 0]
    score = (torch.nn.functional.one_hot(torch.tensor(2), VOCABULARY) - chances) @ step
    expected = lr * slope.dot(slope) + 0.5 * lr**2 * (slope @ hessian @ slope + 0.7 * score**2)
    assert float(moved[0, 0]) == pytest.approx(float(expected))
    assert float(bent[0, 0]) == pytest.approx(float(0.5 * lr**2 * score**2))


def test_twice_the_rate_bends_four_times_and_no_advantage_not_at_all(case):
    batch, output, _ = case
    assert float(shifts(batch, output, None, 2.0)[1]) == pytest.approx(4 * float(shifts(batch, output, None, 1.0)[1]))
    none = shifts(batch.replace(advantages=torch.zeros(1, 1, dtype=torch.float64)), output, None, 1.0)
    assert [float(x) for x in none] == [0, 0]


def test_a_token_outside_of_the_list_counts(case):
    batch, output, _ = case
    part = TopLogits(ids=torch.tensor([[[0, 1, 3, 4]]]), logp=output.top_logits.logp[..., [0, 1, 3, 4]])
    short = SimpleNamespace(hidden=output.hidden, logp=output.logp, top_logits=part)
    for one, other in zip(shifts(batch, output, None, 0.1), shifts(batch, short, None, 0.1), strict=True):
        assert float(one) == pytest.approx(float(other))


def test_adam_is_torch_s():
    """The optimizer goes down the loss; the step with a token's gain added to its moments goes up."""
    head = torch.nn.Parameter(torch.zeros(2, 2, dtype=torch.float64))
    optimizer = torch.optim.Adam([head], lr=0.5)
    assert Adam.ascending(optimizer, head) is None
    gain = torch.tensor([[1.0, -2.0], [0.5, 0.0]], dtype=torch.float64)
    head.grad = -gain
    optimizer.step()
    gain = torch.tensor([[0.3, 1.0], [-1.0, 2.0]], dtype=torch.float64)
    step = Adam.ascending(optimizer, head).scaled(gain[None], torch.tensor([[0, 1]]))[0]
    expected = head.detach() + 0.5 * step
    head.grad = -gain
    optimizer.step()
    assert torch.allclose(head.detach(), expected)


def test_what_bends_too_far_is_not_trained_on():
    assert [one["method/capo_kept"] for one in take(begun("capo-curvature(bound_f=0.0)"), 2)] == [0, 0]
    found = take(begun("capo-curvature(bound_f=1e30, bound_h=1e30)"), 2)
    assert [one["method/capo_kept"] for one in found] == [1, 1]
