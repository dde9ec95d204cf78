"""ISO: singular values stay, singular vectors learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch

STATE = ("u", "v", "u_mean", "u_square", "v_mean", "v_square")


def polar(x: Tensor) -> Tensor:
    """The nearest matrix with orthonormal columns, in float64: P Q^T of the thin singular value decomposition."""
    left, _, right = torch.linalg.svd(x.double(), full_matrices=False)
    return left @ right


@method(name="iso", paper="2607.19331", base="grpo(beta=0)", experimental=True)
class ISO:
    """Every matrix keeps the singular values that it came with; only its singular frames are optimised.

    W = U S V^T with S of the base weights;  dU = G V S, dV = G^T U S with G = dL/dW, after the norm of the whole
    gradient was clipped;  an Adam step on U and V with the suite's learning rate and betas;  U and V are retracted to
    orthonormal columns by their polar factors, in float64, and W is rebuilt. Other parameters take the suite's AdamW.

    Whether the authors project on the tangent space first is not known; their online optimizer is not released. lr: a
    factor on the learning rate of the frames.
    State: frames, their moments and the spectrum of every matrix. Edge cases: equal singular values leave frames
    undetermined, which is harmless; a batch without gradient is skipped. Logits cannot outgrow the spectrum that the
    weights came with: a freshly initialised policy, whose matrices are small, learns next to nothing, a trained one
    learns.
    Source: arXiv 2607.19331, the authors' README; gradients are the chain rule. Confidence: secondary.
    """

    lr: float = 1.0

    @hookimpl
    def start(self, state: Any) -> None:
        """Decompose every matrix of the policy."""
        self.frames: dict[str, dict[str, Tensor]] = {}
        self.spectra: dict[str, Tensor] = {}
        self.taken = 0
        for name, weight in _matrices(state.policy):
            left, self.spectra[name], right = torch.linalg.svd(weight.detach().double(), full_matrices=False)
            right = right.T.contiguous()
            moments = (left, left, right, right)
            held = (left, right, *(torch.zeros_like(one) for one in moments))
            self.frames[name] = dict(zip(STATE, held, strict=True))

    @hookimpl
    def update(self, learner: Any, batch: Batch, state: Any) -> Mapping[str, float]:
        """Every minibatch: gradient, frames, and the rest by the suite's optimizer."""
        found = []
        for _ in range(state.updates_per_batch):
            for part in learner.minibatches(batch):
                metrics = learner.backward(part)
                if learner.pending:
                    norm = self._turn(learner, state)
                    found.append({**metrics, **learner.step(), "grad_norm": norm})
            batch = learner.with_start(batch)
        return {name: sum(one[name] for one in found) / len(found) for name in found[0]} if found else {}

    @torch.no_grad()
    def _turn(self, learner: Any, state: Any) -> float:
        """Move the frames of all matrices that have a gradient, and take that gradient away."""
        matrices = _matrices(state.policy)
        owned, limit = learner.owned[0]
        norm = torch.nn.utils.clip_grad_norm_(owned, float("inf") if limit is None else limit)
        self.taken += 1
        group = learner.optimizer.param_groups[0]
        for name, weight in matrices:
            if weight.grad is None:
                continue
            slope, frame, spectrum = weight.grad.double(), self.frames[name], self.spectra[name]
            slopes = {"u": slope @ frame["v"] * spectrum, "v": slope.T @ frame["u"] * spectrum}
            for side, gradient in slopes.items():
                frame[side] = polar(self._adam(frame, side, gradient, group))
            weight.copy_((frame["u"] * spectrum) @ frame["v"].T)
            weight.grad = None
        return float(norm)

    def _adam(self, frame: dict[str, Tensor], side: str, gradient: Tensor, group: Mapping[str, Any]) -> Tensor:
        """Adam's step of one frame, moments noted."""
        first, second = group["betas"]
        mean = torch.lerp(gradient, frame[f"{side}_mean"], first)
        square = torch.lerp(gradient.square(), frame[f"{side}_square"], second)
        frame[f"{side}_mean"], frame[f"{side}_square"] = mean, square
        scale = (square / (1 - second**self.taken)).sqrt() + group["eps"]
        return frame[side] - self.lr * group["lr"] * mean / (1 - first**self.taken) / scale


def _matrices(policy: Any) -> list[tuple[str, Tensor]]:
    """The names and weights of the policy's matrices that train; none where there is no policy."""
    model = getattr(policy, "model", None)
    named = [] if model is None else model.named_parameters()
    return [(name, weight) for name, weight in named if weight.dim() == 2 and weight.requires_grad]
