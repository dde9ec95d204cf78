"""PPO-EWMA: the proximal policy is an average of past weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Trained, hookimpl, method
from harness.mathematics import masked
from harness_papers.off_policy.behaviour import behaviour_logp

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="ppo-ewma", paper="2110.00641", base="grpo(beta=0)", clips=True)
class PPOEWMA:
    """PPO clips around an exponentially weighted average of past weights, and corrects from the policy that sampled.

    After every optimizer step: th_ewma <- (decay W th_ewma + th) / (decay W + 1), W <- decay W + 1, from W = 1.
    With prox = logp of th_ewma, L = max(logp_sampler, sg[logp] - ln cap):  token loss
    max( -A e^(logp - L), -A e^(clamp(logp - prox, ln(1 - clip), ln(1 + clip)) + prox - L) ).

    decay: 0.9, so that the average is one or two steps old; 0 copies the weights. The average is a second copy of the
    policy, and a pass of it for every minibatch is charged. The `update` is this plugin's.
    State: the average (a module) and W. Edge cases: with decay 0 and one update a batch it is PPO, at ratio 1.
    Source: arXiv 2110.00641 and the authors' code; its use where old logits are missing is not verified.
    Confidence: code.
    """

    clip: float = 0.2
    decay: float = 0.9
    cap: float = 100.0

    @hookimpl
    def start(self) -> None:
        """The weight of the average: one policy so far."""
        self.weight = 1.0

    @hookimpl
    def build(self, policy: Any) -> Mapping[str, Trained]:
        """The average, which is the initial policy."""
        return {"ewma": Trained(policy.copy(), train=False)}

    @hookimpl
    def update(self, learner: Any, batch: Batch, state: Any) -> Mapping[str, float]:
        """Every minibatch with the log-probabilities of the average; then a step, then the average."""
        average, found = state.modules["ewma"], []
        for _ in range(state.updates_per_batch):
            for part in learner.minibatches(batch):
                near = part.with_extras(logp_near=average.evaluate(part).logp)
                metrics = learner.backward(near)
                if learner.pending:  # a minibatch of which no token trains is no step
                    found.append({**metrics, **learner.step()})
                    self.weight = self.decay * self.weight + 1
                    average.follow(state.policy, 1 / self.weight)
                    average.forget()
            batch = learner.with_start(batch)
        return {name: sum(one[name] for one in found) / len(found) for name in found[0]} if found else {}

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The surrogate around the average; around the old policy where there is none."""
        assert batch.advantages is not None
        near = masked(batch.extras.get("logp_near", output.logp_old), batch.mask)
        logp = masked(output.logp, batch.mask)
        least = logp.detach() - torch.tensor(self.cap, dtype=logp.dtype).log()
        start = torch.maximum(masked(behaviour_logp(batch, output), batch.mask), least)
        low, high = torch.tensor([1 - self.clip, 1 + self.clip], dtype=logp.dtype).log().tolist()
        held = (logp - near).clamp(low, high) + near - start
        free = -(logp - start).exp() * batch.advantages
        return torch.maximum(free, -held.clamp_max(20.0).exp() * batch.advantages)
