import pytest
import torch
from harness_papers.optimizers.iso import polar

from tests.papers.steps import begun, take


def matrices(trial):
    return {name: p.detach().clone() for name, p in trial.context.policy.model.named_parameters() if p.dim() == 2}


def test_spectra_stay_and_frames_stay_orthonormal():
    trial = begun("iso(lr=10.0)")
    before = matrices(trial)
    metrics = take(trial, 2)
    after, plugin = matrices(trial), dict(trial.stack.plugins)["iso"]
    assert metrics[0]["updates"] > 0
    for name, old in before.items():
        assert torch.allclose(torch.linalg.svdvals(after[name]), torch.linalg.svdvals(old), atol=1e-9)
        frame = plugin.frames[name]["u"]
        assert torch.allclose(frame.T @ frame, torch.eye(frame.shape[1], dtype=frame.dtype), atol=1e-9)
    assert any(not torch.allclose(after[name], old, atol=1e-6) for name, old in before.items())


def test_vectors_are_left_to_the_suite():
    trial = begun("iso")
    vectors = [p for p in trial.context.policy.model.parameters() if p.dim() < 2]
    before = [p.detach().clone() for p in vectors]
    take(trial)
    assert any(not torch.equal(p, old) for p, old in zip(vectors, before, strict=True))


def test_the_polar_factor():
    turn = torch.tensor([[0.6, -0.8], [0.8, 0.6]], dtype=torch.float64)
    assert torch.allclose(polar(turn @ torch.diag(torch.tensor([3.0, 0.5], dtype=torch.float64))), turn)
    assert polar(torch.tensor([[2.0], [0.0]])).flatten().tolist() == pytest.approx([1, 0])


def test_no_gradient_moves_no_matrix():
    trial = begun("iso", hopeless=True)
    before = matrices(trial)
    take(trial)
    assert all(torch.allclose(p, before[name], atol=1e-12) for name, p in matrices(trial).items())
