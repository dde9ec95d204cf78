import torch
from harness_papers.rewards.heads import EndHead

from tests.batches import make_batch


def test_the_state_before_the_last_token_is_read_and_gets_no_gradient():
    batch = make_batch([1.0, 0.0, 0.0], lengths=[2, 1, 0], tokens=3)
    hidden = torch.randn(3, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    head = EndHead(4, 2, torch.Generator().manual_seed(1)).double()
    scores = head(batch, hidden)
    expected = head.linear(torch.stack([hidden[0, 1], hidden[1, 0], torch.zeros(4, dtype=torch.float64)]))
    assert torch.allclose(scores, expected)
    assert torch.equal(scores[2], head.linear.bias)
    scores.sum().backward()
    assert hidden.grad is None


def test_equal_seeds_give_equal_heads():
    first, second = (EndHead(4, 2, torch.Generator().manual_seed(1)).linear.weight for _ in range(2))
    assert torch.equal(first, second)
