"""A verifier that errs flips the same verdicts for every method, as many as the suite says, and never in evaluation."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import torch

from harness.tasks.base import Problem, Task
from harness.tasks.mixture import Mixture
from harness.training.config import TrialConfig, VerifierConfig
from harness.training.result import trial_key
from harness.training.verifier import ErringVerifier


class Yes(Task):
    """Every answer is right."""

    name = "yes"
    columns = ("correct", "format")
    correct_column = "correct"
    reward_weights = {"correct": 1.0, "format": 0.2}  # noqa: RUF012

    def problems(self, split, limit=None):
        return [Problem(f"yes:{split}{i}", f"{split}{i}", "yes", i) for i in range(400)][:limit]

    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        return {"correct": np.ones(len(texts)), "format": np.full(len(texts), 0.5)}


def _rollouts(keys: list[str], n: int) -> SimpleNamespace:
    rows = len(keys) * n
    return SimpleNamespace(
        requests=[SimpleNamespace(key=key) for key in keys], index=torch.arange(len(keys)).repeat_interleave(n),
        rollout=torch.arange(n).repeat(len(keys)), texts=[""] * rows, truncated=torch.zeros(rows, dtype=torch.bool),
        mask=torch.ones(rows, 1),
    )  # fmt: skip


def _scored(flip: float, keys: list[str], *, n: int = 8, seed: int = 0, step: int = 0) -> dict[str, torch.Tensor]:
    state = SimpleNamespace(seed=seed, step=step, round=0)
    return ErringVerifier(Mixture([(Yes(), 1.0)]), flip, state).score(_rollouts(keys, n))


KEYS = [f"yes:train{i}" for i in range(300)]


def test_as_many_verdicts_as_asked_are_wrong_and_nothing_else() -> None:
    found = _scored(0.2, KEYS)
    assert abs(float((found["correct"] == 0).double().mean()) - 0.2) < 0.02
    assert set(found["correct"].tolist()) == {0.0, 1.0}
    assert set(found["format"].tolist()) == {0.5}


def test_a_completion_is_judged_alike_whatever_is_scored_beside_it() -> None:
    whole = _scored(0.2, KEYS)["correct"].reshape(len(KEYS), 8)
    turned = _scored(0.2, KEYS[::-1])["correct"].reshape(len(KEYS), 8)
    assert torch.equal(whole, turned.flip(0))
    assert torch.equal(whole[:, :4], _scored(0.2, KEYS, n=4)["correct"].reshape(len(KEYS), 4))


def test_seeds_and_steps_err_elsewhere() -> None:
    first = _scored(0.2, KEYS)["correct"]
    assert not torch.equal(first, _scored(0.2, KEYS, seed=1)["correct"])
    assert not torch.equal(first, _scored(0.2, KEYS, step=1)["correct"])


def test_keys_of_trials_change_only_where_verdicts_do() -> None:
    def key(flip: float | None) -> str:
        extra = {} if flip is None else {"verifier": VerifierConfig(flip=flip)}
        return trial_key(TrialConfig(suite="s", method="grpo", budget={"compute": 1}, **extra), {}, {})

    assert key(None) == key(0.0) != key(0.2)


def test_training_sees_flipped_verdicts(started, config) -> None:
    trial, plain = started(config())
    noisy_trial, noisy = started(config(verifier=VerifierConfig(flip=0.99)))
    assert type(trial.context.task) is Mixture
    assert type(noisy_trial.context.task) is type(noisy_trial.context.state.task) is ErringVerifier
    assert torch.equal(plain.completion_ids, noisy.completion_ids)
    assert bool((plain.correct != noisy.correct).double().mean() > 0.8)
