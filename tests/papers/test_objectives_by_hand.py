"""Losses of whole groups, and their slopes, against formulas written out pair by pair and their finite differences.

Groups of three, four, one and two completions of one to four tokens, ties among the rewards.
"""

from itertools import combinations, permutations

import numpy as np
import pytest

from harness import probe

NOISE = np.random.default_rng(3)
GROUP = np.array([0, 0, 0, 1, 1, 1, 1, 2, 3, 3])
REWARD = np.array([1, 0, 0.5, 0, 1, 1, 0, 0.7, 0.3, 0.3])
LENGTH = np.array([1, 4, 2, 3, 3, 1, 2, 2, 4, 1])
MASK = (np.arange(4) < LENGTH[:, None]).astype(float)
LOGP, OLD, REF, SAMPLER = (-NOISE.uniform(0.1, 1.5, MASK.shape) for _ in range(4))
ROWS = [np.flatnonzero(group == GROUP) for group in range(4)]
SPREAD = np.array([REWARD[group == GROUP].std(ddof=1) if (group == GROUP).sum() > 1 else 0 for group in GROUP])
MEAN = np.array([REWARD[group == GROUP].mean() for group in GROUP])
GAIN = np.where(SPREAD > 0, (REWARD - MEAN) / (SPREAD + 1e-6), 0)


def total(x):
    return (x * MASK).sum(1)


def mean(x):
    return total(x) / LENGTH


def softplus(x):
    return np.log1p(np.exp(x))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def shares(x):
    return np.exp(x) / np.exp(x).sum()


def over_groups(value):
    return np.mean([value(rows) for rows in ROWS])


def over_pairs(value, kind="extremes"):
    """The mean over groups that have pairs of the mean over their pairs, the better rewarded one first."""
    found = []
    for rows in ROWS:
        best, worst = REWARD[rows].max(), REWARD[rows].min()
        pairs = list(combinations(rows, 2)) if kind == "every" else list(permutations(rows, 2))
        if kind != "every":
            pairs = [(i, j) for i, j in pairs if REWARD[i] > REWARD[j]]
        if kind == "extremes":
            pairs = [(i, j) for i, j in pairs if (REWARD[i], REWARD[j]) == (best, worst)]
        if pairs:
            found.append(np.mean([value(i, j) for i, j in pairs]))
    return np.mean(found)


def copg(logp):
    regular = REWARD - 0.1 * total(logp - REF)
    return over_groups(
        lambda rows: sum((regular[i] - regular[j]) ** 2 for i, j in combinations(rows, 2))
        / max(len(rows) * (len(rows) - 1), 1) / 0.2
    )  # fmt: skip


def rebel(logp):
    apart = total(logp - OLD) / 2 - REWARD
    return over_groups(lambda rows: np.mean([(apart[i] - apart[j]) ** 2 for i, j in combinations(rows, 2)] or [0]))


def oapl(logp):
    value = np.array([0.5 * np.log(np.exp(REWARD[group == GROUP] / 0.5).mean()) for group in GROUP])
    return ((1e-3 * total(logp - SAMPLER) + value - REWARD) ** 2).mean()


def listwise(logp):
    score = total(logp - OLD)
    return over_groups(lambda rows: -(shares(REWARD[rows] / 0.7) * np.log(shares(score[rows]))).sum())


def reverse(logp):
    score = mean(logp - OLD)
    return over_groups(lambda rows: divergence(shares(score[rows]), shares(REWARD[rows] / 0.7)))


def exo(logp):
    score = 0.8 * total(logp - REF)
    return over_groups(lambda rows: divergence(shares(score[rows]), shares(REWARD[rows] / 0.6)))


def divergence(one, other):
    return (one * np.log(one / other)).sum()


def exo_pairs(logp):
    score = total(logp - REF)
    return over_pairs(lambda i, j: divergence(shares(score[[i, j]]), np.exp([0, -10])))


def variational(link, conjugate, signal=GAIN, beta=0.3):
    """Better ones by the link, worse ones by the conjugate of it."""

    def loss(logp):
        score = link(beta * total(logp - REF))
        return (np.maximum(-signal, 0) * conjugate(score) - np.maximum(signal, 0) * score).mean()

    return loss


def jensen_shannon(signal=GAIN, beta=0.3):
    return variational(lambda u: np.log(2) - softplus(-u), lambda t: -np.log(2 - np.exp(t)), signal, beta)


def hybrid(logp):
    pair = np.array([1, -1, 0, -0.5, 0.5, 0.5, -0.5, 0, 0, 0])
    return 0.3 * jensen_shannon(GAIN, 0.1)(logp) + 0.7 * jensen_shannon(pair, 0.1)(logp)


def regressed(logp):
    moved, implied = total(logp - OLD), np.zeros(len(GROUP))
    for rows in ROWS:
        apart = moved[rows] - moved[rows].mean()
        implied[rows] = apart / (moved[rows].std(ddof=1) + 1e-6) if len(rows) > 1 else apart
    return ((GAIN - implied) ** 2).mean()


def dno(logp):
    moved, rate = total(logp - OLD), np.full(len(GROUP), 0.5)
    for rows in ROWS:
        for i in rows:
            rate[i] = np.mean([(np.sign(REWARD[i] - REWARD[j]) + 1) / 2 for j in rows if j != i] or [0.5])

    def loss(i, j):
        share, margin = sigmoid(rate[i] - rate[j]), 0.1 * (moved[i] - moved[j])
        return share * softplus(-margin) + (1 - share) * softplus(margin)

    return over_pairs(loss, "every")


def cpl(logp):
    score = 0.1 * mean(logp * 0.7 ** np.arange(4))
    return over_pairs(lambda i, j: softplus(0.5 * score[j] - score[i]))


def dppo(logp):
    near = np.exp(mean(logp))
    return over_pairs(lambda i, j: -np.log(near[i] / (near[i] + near[j] ** 0.5)), "ordered")


def po_co(logp):
    return over_pairs(lambda i, j: softplus(0.05 * (total(logp)[j] - total(logp)[i])), "ordered")


def dpo(logp, eta=0.0):
    moved = total(logp - REF)
    return over_pairs(lambda i, j: softplus(0.1 * (moved[j] - moved[i])) - eta * total(logp)[i])


def ipo(logp):
    moved = total(logp - REF)
    return over_pairs(lambda i, j: (moved[i] - moved[j] - 5) ** 2)


def simpo(logp):
    return over_pairs(lambda i, j: softplus(0.5 - 2 * (mean(logp)[i] - mean(logp)[j])))


def power(logp):
    score = 2 * (mean(logp) + 1 / LENGTH)
    return over_pairs(lambda i, j: softplus(score[j] - score[i]) - 0.2 * mean(logp)[i])


def p3o(logp):
    reward, ratio = REWARD - 0.04 * total(OLD - REF), np.exp(total(logp - OLD))

    def side(i, gain):
        return -min(ratio[i] * gain, np.clip(ratio[i], 0.8, 1.2) * gain)

    return over_pairs(lambda i, j: side(i, (reward[i] - reward[j]) / 2) + side(j, (reward[j] - reward[i]) / 2), "every")


def kto(logp):
    """Of which the reference point has no slope; three are good, seven bad."""
    moved, level = total(logp - REF), max(total(LOGP - REF).mean(), 0)
    good, bad = sigmoid(0.1 * (moved - level)), sigmoid(0.1 * (level - moved))
    return np.where(REWARD > 0.5, 1 - good, (REWARD > 0.5).sum() / (REWARD <= 0.5).sum() * (1 - bad)).mean()


CASES = {
    "copg": copg, "rebel(eta=2.0)": rebel, "oapl": oapl, "lpo-listwise(tau=0.7)": listwise,
    "lpo-listwise(tau=0.7, direction='reverse', normalize=True)": reverse, "exo(beta=0.8, beta_r=0.6)": exo,
    "exo(target='pairs')": exo_pairs, "f-div-grpo(beta=0.3)": jensen_shannon(),
    "f-div-grpo(beta=0.3, divergence='kl')": variational(lambda u: 1 + u, lambda t: np.exp(t - 1)),
    "f-div-grpo(beta=0.3, divergence='chi2')": variational(lambda u: u, lambda t: t**2 / 4 + t),
    "f-hal(lam=0.3)": hybrid, "grpo(beta=0)+reg-grpo": regressed, "dno": dno, "cpl(gamma=0.7, normalize=True)": cpl,
    "dppo-preference": dppo, "po-co": po_co, "dpo": dpo, "rpo-sft": lambda logp: dpo(logp, 0.005), "ipo": ipo,
    "simpo": simpo, "power-dl": power, "p3o": p3o, "kto": kto,
}  # fmt: skip


@pytest.mark.parametrize("method", CASES)
def test_losses_and_slopes(method):
    loss, slope = probe.loss(
        method, logp=LOGP, logp_old=OLD, logp_ref=REF, logp_sampler=SAMPLER, mask=MASK, rewards=REWARD, group=GROUP
    )
    assert loss == pytest.approx(CASES[method](LOGP))
    assert slope == pytest.approx(finite_difference(CASES[method]), abs=1e-7)


def finite_difference(loss, step=1e-5):
    found = np.zeros_like(LOGP)
    for place in np.ndindex(*LOGP.shape):
        moved = np.zeros_like(LOGP)
        moved[place] = step
        found[place] = (loss(LOGP + moved) - loss(LOGP - moved)) / (2 * step)
    return found
