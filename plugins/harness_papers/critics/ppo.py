"""PPO with a value head and generalized advantage estimation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from harness import Trained, hookimpl, method
from harness.mathematics import gae, masked, ppo_clip_loss, token_mean_weights, whiten

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


class ValueHead(nn.Module):
    """A linear value on the policy's hidden state; it starts at 0 and sends no gradient into the policy."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 1)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, batch: Batch, hidden: Tensor) -> Tensor:  # noqa: ARG002 - the learner's call
        """Values [N, T] of the states hidden [N, T, D] before each token."""
        return self.linear(hidden.detach().to(self.linear.weight.dtype))[..., 0]


@method(
    paper="1707.06347",
    needs={"hidden"},
    clips=True,
    search={"clip": (0.1, 0.4), "lam": (0.9, 1.0), "critic_lr": (3e-4, 3e-3, "log")},
)
class PPO:
    """A learned value of every state is the baseline; errors of it are weighted along the completion.

    delta_t = r_t + gamma V_{t+1} - V_t (V = 0 after the end);  A_t = delta_t + gamma lam A_{t+1}, whitened over all
    tokens of the batch;  clipped surrogate, token mean;  plus value_weight times the token mean of
    1/2 max( (V - ret)^2, (V_old + clip(V - V_old, -+value_clip) - ret)^2 ) with ret = A + V_old before whitening.

    The critic is a linear head on the policy's hidden state with an optimizer of its own (`critic_lr`).
    lam: 1 in most code for language models (0.95 elsewhere). whiten: as in verl. count_eps: added to the number of
    tokens in the mean that whitening takes off, 1e-8 in verl.
    Edge cases: V = 0 and gamma = lam = 1 is REINFORCE with a clip; equal rewards and
    groups of one still move, because of V.
    Source: arXiv 1707.06347, 1506.02438; verl. Confidence: code.
    """

    clip: float = 0.2
    gamma: float = 1.0
    lam: float = 1.0
    value_weight: float = 1.0
    value_clip: float = 0.5
    critic_lr: float = 1e-3
    whiten: bool = True
    count_eps: float = 0.0

    @hookimpl
    def build(self, policy: Any) -> Mapping[str, Trained]:
        """The value head."""
        head = ValueHead(policy.model.config.hidden_size)
        return {"critic": Trained(head, lr=self.critic_lr)}

    @hookimpl
    def annotate(self, batch: Batch, policy: Any) -> Mapping[str, Tensor]:
        """Values at the step's starting weights, and the tokens that were written, whichever of them train."""
        return {"values": policy.evaluate(batch).modules["critic"].detach(), "written": batch.mask}

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Generalized advantage estimates."""
        advantages, _ = self._estimates(batch)
        return whiten(advantages, batch.mask, count_eps=self.count_eps) if self.whiten else advantages

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The clipped surrogate."""
        assert batch.advantages is not None
        return ppo_clip_loss(output.ratio, batch.advantages, self.clip, self.clip)

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The clipped value loss of every token; it gets the weights of the loss."""
        _, returns = self._estimates(batch)
        old, values = (masked(x, batch.mask) for x in (batch.extras["values"], output.modules["critic"]))
        near = old + (values - old).clamp(-self.value_clip, self.value_clip)
        error = torch.maximum((values - returns).square(), (near - returns).square())
        return self.value_weight * masked(error, batch.mask) / 2

    def _estimates(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Advantages and returns over whole completions: tokens left out by a later `train_on` change none."""
        batch = batch.replace(mask=batch.extras.get("written", batch.mask))
        values = batch.extras["values"].to(batch.token_rewards.dtype)
        return gae(batch.token_rewards, values, batch.mask, self.gamma, self.lam)
