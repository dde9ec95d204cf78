import numpy as np
import pytest
import torch
from harness_papers.optimizers.iso import polar

from harness.policies.random import tiny_policy
from harness.tasks.base import Problem, Task
from harness.tasks.mixture import Mixture
from harness.training.config import BudgetConfig, OptimizerConfig, PolicyConfig, SamplingConfig, TrialConfig
from harness.training.setup import make
from tests.papers.chain import CATALOGUE
from tests.papers.steps import begun, take


class SmallFirst(Task):
    """Right is to begin with one of five characters, a twentieth of what there is."""

    name, columns, correct_column, max_tokens = "small", ("correct",), "correct", 4

    def __init__(self):
        self.reward_weights = {"correct": 1.0}

    def problems(self, split, limit=None):
        return [Problem(f"small:{i}", f"{i}=", "small", None) for i in range(40)][:limit]

    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        return {"correct": np.array([bool(text) and text[0] in "01234" for text in texts], float)}


def learning(scale):
    """Pass rates of 25 steps of a random policy whose matrices are `scale` times as large."""
    policy = tiny_policy(seed=0)
    with torch.no_grad():
        for weight in policy.model.parameters():
            weight.mul_(scale if weight.dim() == 2 else 1)
    config = TrialConfig(
        suite="papers", method="iso(lr=3.0)", policy=PolicyConfig(model="random"), optimizer=OptimizerConfig(lr=1e-3),
        sampling=SamplingConfig(prompts=8, group_size=8, max_tokens=4), budget=BudgetConfig(compute=1e9),
    )  # fmt: skip
    trial = make(config, Mixture([(SmallFirst(), 1.0)], seed=0), None, CATALOGUE, policy)
    return [metrics["correct"] for metrics in take(trial, 25)]


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


def test_it_learns_as_far_as_the_spectrum_lets_the_logits_grow():
    small, large = learning(1.0), learning(8.0)
    assert np.mean(large[-5:]) > 2 * np.mean(large[:3])
    assert np.mean(large[-5:]) > 0.6
    assert np.mean(small[-5:]) < 0.2
