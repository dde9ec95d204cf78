"""A KL penalty in the reward, with a fixed weight or one that keeps the KL near a target."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING

from harness import hookimpl, method
from harness.mathematics import adapted_coefficient, kl_estimate
from harness_papers.kl_reward import add_kl_reward

if TYPE_CHECKING:
    from harness import Batch


@method(
    name="kl-reward",
    paper="1909.08593",
    base="grpo(beta=0)",
    needs=lambda m: {"reference"} if m.beta else set(),
    neutral={"beta": 0.0},
)
class KLReward:
    """The distance to the reference policy is taken off every token's reward, before advantages are estimated.

    r_{i,t} <- r_{i,t} - beta (logp - logp_ref), k1 at the policy that wrote the token, without gradient.

    target: None keeps beta; a number makes it follow the measured KL, as in arXiv 1909.08593: after every step
    beta <- beta (1 + clip(KL / target - 1, -+0.2) N / horizon), KL the mean over completions of their token means and N
    the number of completions. horizon: in completions.
    Edge cases: methods that use outcomes only see the sum over the completion's tokens.
    Source: arXiv 1909.08593; verl (adaptive and fixed controllers), OpenRLHF. Confidence: code.
    """

    beta: float = 0.05
    target: float | None = None
    horizon: float = 10_000.0

    @hookimpl
    def start(self) -> None:
        """The weight begins at beta."""
        self.coefficient = self.beta

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The penalty, token by token."""
        batch = yield
        return add_kl_reward(batch, self.coefficient) if self.beta else batch

    @hookimpl
    def end_step(self, batch: Batch) -> Mapping[str, float] | None:
        """Moves the weight, and logs it."""
        if not self.beta or self.target is None or batch.logp_ref is None or not len(batch):
            return None
        logp = batch.logp_sampler if batch.logp_old is None else batch.logp_old
        measured = float(batch.sequence_mean(kl_estimate(logp, batch.logp_ref, "k1")).mean())
        self.coefficient = adapted_coefficient(self.coefficient, measured, self.target, len(batch) / self.horizon)
        return {"kl_reward/coefficient": self.coefficient, "kl_reward/kl": measured}
