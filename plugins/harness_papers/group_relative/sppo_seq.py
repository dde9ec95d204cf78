"""SPPO: one value per prompt instead of one per token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Trained, hookimpl, method
from harness.mathematics import token_mean_weights
from harness_papers.critics.ppo import ValueHead

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

NAME = "prompt_value"


@method(name="sppo-seq", paper="2604.08865", base="grpo(beta=0, dual=3.0)", needs={"hidden"})
class SPPOSequence:
    """A critic predicts the prompt's solve probability, which is the baseline of the whole completion.

    A_i = R_i - sigmoid(V(q)), the same for all tokens, not whitened;  clipped loss, token mean;
    critic loss = mean over completions of the cross-entropy between sigmoid(V(q)) and R_i.

    V is a linear head on the policy's hidden state at the end of the prompt (the paper has a model of its own), with
    an optimizer of its own (`critic_lr`, ours for the head; 1e-5 for the paper's model). Rewards are cut to [0, 1] for
    the cross-entropy, whose weight is `value_weight`.
    Edge cases: an untrained critic gives R - 1/2; unanimous groups still teach; works with groups of one; a prompt
    whose completions are all empty has V = 0. Not Self-Play Preference Optimization.
    Source: arXiv 2604.08865 and the authors' code. Confidence: code.
    """

    critic_lr: float = 1e-3
    value_weight: float = 1.0

    @hookimpl
    def build(self, policy: Any) -> Mapping[str, Trained]:
        """The head."""
        return {NAME: Trained(ValueHead(policy.model.config.hidden_size), lr=self.critic_lr)}

    @hookimpl
    def annotate(self, batch: Batch, policy: Any) -> Mapping[str, Tensor]:
        """Logits at the step's starting weights."""
        return {NAME: _first(policy.evaluate(batch).modules[NAME]).detach()}

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The outcome minus its prediction."""
        logit = batch.extras.get(NAME)
        logit = torch.zeros_like(batch.reward) if logit is None else logit.to(batch.rewards.dtype)
        return batch.reward - logit.sigmoid()

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The critic's cross-entropy."""
        if NAME not in output.modules or not len(batch):
            return output.logp.new_zeros(())
        logit = _first(output.modules[NAME])
        target = batch.reward.clamp(0, 1).to(logit.dtype)
        return self.value_weight * torch.nn.functional.binary_cross_entropy_with_logits(logit, target)


def _first(values: Tensor) -> Tensor:
    """[N] the value before the first token, of values [N, T]."""
    return values[:, 0] if values.shape[1] else values.sum(1)
