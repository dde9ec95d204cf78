"""Token losses and their slopes on many tokens at once, both signs of the advantage, against formulas written out."""

import numpy as np
import pytest

from harness import probe

NOISE = np.random.default_rng(1)
OLD = np.log(NOISE.uniform(0.05, 0.95, (40, 3)))
SHIFT = np.minimum(NOISE.normal(0, 0.5, OLD.shape), -OLD - 1e-3)
LOGP, RATIO = OLD + SHIFT, np.exp(SHIFT)
SEQUENCE = np.exp(SHIFT.mean(1, keepdims=True))
GAIN = NOISE.normal(size=(40, 1)) * (np.arange(40)[:, None] % 7 > 0)
SAMPLER, NEAR = (OLD + NOISE.normal(0, 0.3, OLD.shape) for _ in range(2))


def clipped(ratio, low=0.2, high=0.2):
    """PPO's loss, and its slope with respect to log pi."""
    loss = np.maximum(-ratio * GAIN, -np.clip(ratio, 1 - low, 1 + high) * GAIN)
    stuck = (GAIN > 0) & (ratio > 1 + high) | (GAIN < 0) & (ratio < 1 - low)
    return loss, np.where(stuck, 0, -GAIN * ratio)


def quadratic():
    distance = RATIO - 1
    return abs(GAIN) * distance**2 / 0.4 - RATIO * GAIN, RATIO * (abs(GAIN) * distance / 0.2 - GAIN)


def variance():
    return 0.04 * (RATIO - 1) ** 2 - RATIO * GAIN, RATIO * (0.08 * (RATIO - 1) - GAIN)


def hazard():
    squashed = 1.5 * np.tanh(SHIFT / 1.5)
    damped = np.log1p(np.exp(squashed)) ** 1.5 + (np.log1p(np.exp(-squashed)) / 0.8) ** 2
    loss = -np.exp(squashed - damped) * GAIN
    return loss, loss / np.cosh(SHIFT / 1.5) ** 2


def bound(ratio):
    """Where the divergence is 0.05, by Newton's steps from a ratio where it is more: it is convex."""
    old = np.exp(OLD)
    for _ in range(200):
        rest = (1 - ratio * old) / (1 - old)
        excess = -old * np.log(ratio) - (1 - old) * np.log(rest) - 0.05
        ratio = ratio - excess / (old / rest - old / ratio)
    return ratio


def band():
    low, high = bound(np.full_like(OLD, 1e-12)), bound((1 - 1e-12) / np.exp(OLD))
    loss, slope = clipped(RATIO, 1 - low, high - 1)
    bounded = (GAIN < 0) & (loss > -10 * GAIN)
    return np.where(bounded, -10 * GAIN, loss), np.where(bounded, 0, slope)


def drift():
    up, down = (RATIO - 1) * GAIN, SHIFT * GAIN
    size = np.where(GAIN >= 0, up - 2 * np.tanh(up / 2), down - 0.6 * np.tanh(down / 0.6))
    slope = np.where(GAIN >= 0, RATIO * GAIN * np.tanh(up / 2) ** 2, GAIN * np.tanh(down / 0.6) ** 2)
    return np.maximum(size, 0) - RATIO * GAIN, np.where(size > 0, slope, 0) - RATIO * GAIN


def mixed():
    free, held = (RATIO + SEQUENCE) / 2, (np.clip(RATIO, 0.8, 1.28) + np.clip(SEQUENCE, 1 - 3e-4, 1 + 4e-4)) / 2
    inside = RATIO * ((RATIO > 0.8) & (RATIO < 1.28)) + SEQUENCE * ((SEQUENCE > 1 - 3e-4) & (SEQUENCE < 1 + 4e-4))
    return np.maximum(-free * GAIN, -held * GAIN), -GAIN * np.where(-free * GAIN >= -held * GAIN, free, inside / 2)


def tapered():
    taper = np.where(GAIN > 0, 1, np.minimum(np.exp(SHIFT.sum(1, keepdims=True)), 1))
    return -taper * GAIN * LOGP, -taper * GAIN * np.ones_like(LOGP)


def second_order():
    apart = RATIO - 1
    before, whole = np.cumsum(apart, 1) - apart, apart.sum(1, keepdims=True)
    return -apart * GAIN * (1 + before), -RATIO * GAIN * (1 + whole - apart)


def shaped():
    weight = np.clip(2 / (1 + np.exp(-4 * np.exp(LOGP))) - 0.5, 0.5, 1.4)
    return tuple(weight * part for part in clipped(RATIO))


def divergence():
    new, old = np.exp(LOGP), np.exp(OLD)
    moved = old * np.log(old / new) + (1 - old) * np.log((1 - old) / (1 - new))
    out = (moved > 0.05) & np.where(GAIN > 0, new > old, new < old)
    weight = np.where(out, 0, np.minimum(RATIO, 10)) * GAIN
    return -weight * LOGP, -weight


def decoupled():
    return tuple(np.exp(OLD - SAMPLER) * part for part in clipped(RATIO))


def interpolated():
    """Three steps old: two thirds of the way."""
    near = SAMPLER + 2 / 3 * (LOGP - SAMPLER)
    return tuple(np.exp(near - SAMPLER) * part for part in clipped(np.exp(LOGP - near)))


def averaged():
    return tuple(np.exp(NEAR - SAMPLER) * part for part in clipped(np.exp(LOGP - NEAR)))


CASES = {
    "cfpo": quadratic, "spo-simple": quadratic, "r2vpo": variance, "mhpo": hazard, "bandpo": band,
    "discovered-po": drift, "dhpo": mixed, "topr": tapered, "taypo-2": second_order, "grpo-sg": shaped,
    "stable-reinforce": lambda: clipped(RATIO), "dppo-divergence(divergence='kl', anchor='old')": divergence,
    "decoupled-ppo": decoupled, "a3po": interpolated, "ppo-ewma": averaged,
}  # fmt: skip


@pytest.mark.parametrize("method", CASES)
def test_losses_and_slopes(method):
    fields = {"logp_sampler": SAMPLER, "logp_near": NEAR, "age": np.full(len(OLD), 3 if method == "a3po" else 0)}
    found = probe.token_loss(method, logp=LOGP, logp_old=OLD, advantages=GAIN, mask=np.ones_like(OLD), **fields)
    for ours, theirs in zip(found, CASES[method](), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-6)
