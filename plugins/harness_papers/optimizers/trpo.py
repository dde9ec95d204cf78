"""TRPO: a natural-gradient step, as long as the KL allows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Trained, hookimpl, method
from harness.mathematics import masked, token_mean_weights

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


def conjugate_gradient(product: Callable[[Tensor], Tensor], target: Tensor, iterations: int) -> Tensor:
    """The x [P] with product(x) = target after `iterations` steps, for a positive definite product."""
    found, left = torch.zeros_like(target), target.clone()
    along, size = target.clone(), target.dot(target)
    for _ in range(iterations):
        if size <= torch.finfo(target.dtype).tiny:
            break
        image = product(along)
        step = size / along.dot(image)
        found, left = found + step * along, left - step * image
        before, size = size, left.dot(left)
        along = left + size / before * along
    return found


@method(paper="1502.05477", base="grpo(beta=0)")
class TRPO:
    """The surrogate is maximised along the natural gradient, as far as a line search finds gain within a KL limit.

    J = token mean of r A, K = token mean of KL(pi_old || pi) over the vocabulary.  x = conjugate gradient of (F +
    damping) x = grad J;  th = th_old + shrink^j sqrt(2 delta / x^T (F + damping) x) x, the first j with J above that of
    th_old and K <= delta; none: the weights stay.  F, the Hessian of K at th_old, is taken over the tokens that were
    sampled, E[grad logp grad logp^T], whose expectation it is; its products are a derivative of logp along a direction
    (central difference, `radius` long) sent back through the policy.

    One update a batch, whatever the suite says of minibatches. Everything is charged: about 5 forwards a token for each
    of the `iterations`, 3 for each of at most `tries` steps of the line search.
    Edge cases: A = 0 everywhere skips the step. The optimizer's moments are not used. State: a copy of the policy.
    Source: arXiv 1502.05477, from knowledge. Confidence: secondary.
    """

    delta: float = 0.01
    iterations: int = 10
    damping: float = 0.1
    shrink: float = 0.5
    tries: int = 10
    radius: float = 1e-2

    @hookimpl
    def build(self, policy: Any) -> Mapping[str, Trained]:
        """The policy at the start of the step."""
        return {"trpo_old": Trained(policy.copy(), train=False)}

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The surrogate without a clip."""
        assert batch.advantages is not None
        return -output.ratio * batch.advantages

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)

    @hookimpl(wrapper=True)
    def loss(self, batch: Batch, output: PolicyOutput) -> Generator[None, Tensor, Tensor]:
        """The surrogate, or what gives a product with the Fisher matrix where a slope along a direction is given."""
        below = yield
        slope = batch.extras.get("trpo_slope")
        return below if slope is None else (token_mean_weights(batch.mask) * slope * output.logp).sum()

    @hookimpl(wrapper=True)
    def regularize(self, batch: Batch) -> Generator[None, list[Any], list[Any]]:
        """Penalties are no part of the Fisher matrix."""
        terms = yield
        return [] if "trpo_slope" in batch.extras else terms

    @hookimpl
    def update(self, learner: Any, batch: Batch, state: Any) -> Mapping[str, float]:
        """Gradient, direction, line search."""
        old = state.modules["trpo_old"]
        old.follow(state.policy)
        metrics = learner.backward(batch)
        batch, ascent = learner.with_start(batch), -learner.gradient()
        if not ascent.any():
            return {**metrics, "trpo_kl": 0.0, "trpo_tries": 0.0}
        with learner.tentative() as origin:
            direction = conjugate_gradient(
                lambda v: self.fisher(learner, batch, state, origin, v), ascent, self.iterations
            )
            curvature = direction.dot(self.fisher(learner, batch, state, origin, direction))
            length = float((2 * self.delta / curvature.clamp_min(torch.finfo(curvature.dtype).tiny)).sqrt())
            return {**metrics, **self._search(learner, batch, state, origin, direction * length)}

    def fisher(self, learner: Any, batch: Batch, state: Any, origin: Any, vector: Tensor) -> Tensor:
        """[P] (F + damping) times a vector [P], at the weights of `origin`, which are put back."""
        reach = self.radius / float(vector.norm())
        learner.shift(vector, reach)
        ahead = state.policy.evaluate(batch).logp
        learner.shift(vector, -2 * reach)
        slope = masked(ahead - state.policy.evaluate(batch).logp, batch.mask) / (2 * reach)
        learner.restore(origin)
        learner.backward(batch.with_extras(trpo_slope=slope))
        return learner.gradient() + self.damping * vector

    def _search(self, learner: Any, batch: Batch, state: Any, origin: Any, step: Tensor) -> dict[str, float]:
        """Move, or stay."""
        gain_before = self._gain(learner, batch, state)
        for attempt in range(self.tries):
            learner.restore(origin)
            learner.shift(step, self.shrink**attempt)
            gain = self._gain(learner, batch, state)
            divergence = float((token_mean_weights(batch.mask) * self._kl(batch, state)).sum())
            if gain > gain_before and divergence <= self.delta:
                learner.stepped()
                return {"trpo_kl": divergence, "trpo_tries": attempt + 1.0}
        learner.restore(origin)
        return {"trpo_kl": 0.0, "trpo_tries": float(self.tries)}

    @staticmethod
    def _gain(learner: Any, batch: Batch, state: Any) -> float:
        """J at the weights as they are."""
        weighed = batch.replace(weights=learner.hooks.aggregate(batch=batch))
        with torch.no_grad():
            return -float(learner.hooks.loss(batch=weighed, output=state.policy.evaluate(weighed)))

    @staticmethod
    def _kl(batch: Batch, state: Any) -> Tensor:
        """[N, T] KL from the policy at the start of the step to the one that is."""
        divergence: Tensor = state.modules["trpo_old"].kl(batch, state.policy)
        return divergence
