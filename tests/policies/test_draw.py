import pytest
import torch

from harness.policies.draw import BLOCK, draw, invert


def by_hand(probability, noise):
    steps = probability.double().cumsum(-1)
    return (steps <= noise[:, None] * steps[:, -1:]).sum(-1)


@pytest.mark.parametrize("size", [2, 79, BLOCK, BLOCK + 1, 5000])
def test_inversion_agrees_with_the_definition(size):
    generator = torch.Generator().manual_seed(size)
    probability = torch.softmax(3 * torch.randn(400, size, generator=generator), -1)
    noise = torch.rand(400, generator=generator, dtype=torch.float64)
    assert torch.equal(invert(probability, noise), by_hand(probability, noise))


@pytest.mark.parametrize("size", [8, 3 * BLOCK])
def test_tokens_without_probability_are_never_drawn(size):
    probability = torch.zeros(3, size)
    probability[:, 3] = 0.25
    probability[:, 5] = 0.75
    noise = torch.tensor([0.0, 0.25, 1 - 2.0**-53], dtype=torch.float64)
    assert invert(probability, noise).tolist() == [3, 5, 5]


def test_frequencies_follow_the_tempered_distribution():
    logits = torch.tensor([[0.0, 1.0, 2.0, -1.0]]).expand(20_000, -1)
    noise = (torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000
    temperature = torch.full((20_000,), 0.6)
    tokens, logp, entropy = draw(logits, noise, temperature, None, want_entropy=True)
    expected = torch.softmax(logits[0] / 0.6, -1)
    assert torch.allclose(torch.bincount(tokens, minlength=4) / 20_000, expected, atol=1e-4)
    assert torch.allclose(logp, expected.log()[tokens])
    assert torch.allclose(entropy, -(expected * expected.log()).sum().expand(20_000))


def test_greedy_rows_take_the_likeliest_and_report_its_tempered_probability():
    logits = torch.tensor([[0.0, 3.0, 1.0]]).expand(2, -1)
    noise = torch.tensor([1e-9, 1e-9], dtype=torch.float64)
    tokens, logp, _ = draw(logits, noise, None, torch.tensor([True, False]), want_entropy=False)
    assert tokens.tolist() == [1, 0]
    assert torch.allclose(logp, torch.log_softmax(logits, -1)[torch.arange(2), tokens])
