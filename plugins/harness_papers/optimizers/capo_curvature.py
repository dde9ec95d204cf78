"""CAPO: tokens whose step would bend the objective or the policy too far are left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch
from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

CHUNK = 1024  # tokens whose gradients are held at once


@method(
    name="capo-curvature",
    paper="2510.00819",
    base="grpo(beta=0)",
    needs={"hidden", "top_logits"},
    neutral={"bound_f": 1e30, "bound_h": 1e30},
)
class CAPOCurvature:
    """A model of the last layer foresees how a token's step changes objective and policy; tokens beyond bounds leave.

    v = onehot - pi (over the 20 likeliest tokens and the one sampled), h the state before the head, A the advantage,
    G = A v h^T, G' = the step up that Adam would take with G added to its moments of the head (G itself before it has
    any, and with optimizer="sgd"), u = G' h;
    m_H = lr <G, G'> + lr^2 / 2 A ((v.u)^2 - u^T (diag(pi) - pi pi^T) u),  m_F = lr^2 / 2 (v.u)^2.
    A token is trained on iff |m_H| < bound_h (with one_sided: 0 <= m_H < bound_h) and m_F < bound_f; rejected ones
    leave the denominators too.

    bound_f, bound_h: for GRPO, at a learning rate of 1.5e-5 (Dr. GRPO: 1e-3 and 5e-4); m_F grows with its square. lr:
    None is the suite's own, now. The authors take up to 100 tokens. A pass before every update is charged.
    Edge cases: A = 0 is kept; infinite bounds reject nothing.
    Source: arXiv 2510.00819, the authors' code. Confidence: code.
    """

    bound_f: float = 1e-4
    bound_h: float = 1e-2
    one_sided: bool = False
    lr: float | None = None
    optimizer: Literal["adam", "sgd"] = "adam"

    @hookimpl
    def update(self, learner: Any, batch: Batch, state: Any) -> Mapping[str, float]:
        """Every minibatch without the tokens that bend too far."""
        if batch.logp_old is None:
            batch = batch.replace(logp_old=state.policy.evaluate(batch).logp)
        found = []
        for _ in range(state.updates_per_batch):
            for part in learner.minibatches(batch):
                kept = self._kept(part, learner, state)
                share = float((part.mask * kept).sum() / part.mask.sum().clamp_min(1))
                metrics = learner.backward(part.replace(mask=part.mask * kept))
                found.append({**metrics, **learner.step(), "capo_kept": share})
        names = {name: None for one in found for name in one}
        return {name: sum(one.get(name, 0.0) for one in found) / len(found) for name in names}

    def _kept(self, batch: Batch, learner: Any, state: Any) -> Tensor:
        """[N, T] bool."""
        head = state.policy.model.get_output_embeddings().weight
        adam = Adam.ascending(learner.optimizer, head) if self.optimizer == "adam" else None
        lr = learner.lr if self.lr is None else self.lr
        moved, bent = shifts(batch, state.policy.evaluate(batch), adam, lr)
        inside = (moved >= 0) if self.one_sided else (moved > -self.bound_h)
        return inside & (moved < self.bound_h) & (bent < self.bound_f)


class Adam(NamedTuple):
    """The moments [V, D] of the head, and what Adam makes of them at step `taken`."""

    mean: Tensor
    square: Tensor
    taken: float
    first: float
    second: float
    eps: float

    @classmethod
    def ascending(cls, optimizer: torch.optim.Optimizer, head: Tensor) -> Adam | None:
        """The moments of the objective, which is minus the loss that the optimizer descends; None before it has any."""
        held = optimizer.state.get(head, {})
        if "exp_avg_sq" not in held:
            return None
        group = optimizer.param_groups[0]
        first, second = group["betas"]
        return cls(-held["exp_avg"], held["exp_avg_sq"], float(held["step"]) + 1, first, second, group["eps"])

    def scaled(self, gradient: Tensor, ids: Tensor) -> Tensor:
        """[M, K, D] the step with gradients [M, K, D] of the rows ids [M, K] added, without the learning rate."""
        mean = torch.lerp(gradient, self.mean[ids].to(gradient.dtype), self.first)
        square = torch.lerp(gradient.square(), self.square[ids].to(gradient.dtype), self.second)
        scale = (square / (1 - self.second**self.taken)).sqrt() + self.eps
        return mean / (1 - self.first**self.taken) / scale


def shifts(batch: Batch, output: PolicyOutput, adam: Adam | None, lr: float) -> tuple[Tensor, Tensor]:
    """[N, T] each: m_H and m_F, 0 where masked; `adam` None is plain descent."""
    assert output.top_logits is not None
    assert output.hidden is not None
    assert batch.advantages is not None
    on = batch.mask > 0
    listed, sampled = output.top_logits.ids[on], batch.completion_ids[on][:, None]
    fresh = (listed != sampled).all(-1, keepdim=True)  # the sampled token is not among the likeliest
    ids = torch.cat([listed, sampled], -1)
    known = torch.cat([torch.ones_like(listed, dtype=torch.bool), fresh], -1)
    chances = torch.cat([output.top_logits.logp[on], output.logp[on][:, None]], -1).exp() * known
    apart = ((ids == sampled) * known).to(chances.dtype) - chances
    gains = batch.advantages.expand_as(batch.mask)[on].to(chances.dtype)
    parts = zip(*(x.split(CHUNK) for x in (gains, apart, output.hidden[on], ids, chances)), strict=True)
    found = [_shift(gain, v, h, rows, p, adam, lr) for gain, v, h, rows, p in parts]
    blank = torch.zeros(2, *on.shape, dtype=chances.dtype, device=on.device)
    blank[:, on] = torch.cat(found, -1) if found else blank[:, on]
    return blank[0], blank[1]


def _shift(  # noqa: PLR0917 - one token's quantities
    gain: Tensor, apart: Tensor, hidden: Tensor, ids: Tensor, chances: Tensor, adam: Adam | None, lr: float
) -> Tensor:
    """[2, M] m_H and m_F of A [M], v [M, K], h [M, D], tokens [M, K] and their probabilities [M, K]."""
    gradient = (gain[:, None] * apart)[:, :, None] * hidden[:, None, :].to(apart.dtype)
    step = gradient if adam is None else adam.scaled(gradient, ids)
    bent = (step * hidden[:, None, :]).sum(-1)  # u
    slope = (apart * bent).sum(-1)  # v.u
    spread = (chances * bent.square()).sum(-1) - (chances * bent).sum(-1).square()
    moved = lr * (gradient * step).sum((1, 2)) + 0.5 * lr**2 * gain * (slope.square() - spread)
    return torch.stack([moved, 0.5 * lr**2 * slope.square()])
