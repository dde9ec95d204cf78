"""Reward model ensembles: a pessimistic aggregate of several learned rewards."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from torch import Tensor, nn

from harness import Trained, hookimpl, method
from harness.errors import PluginError
from harness_papers.reward_columns import in_place, verdict
from harness_papers.rewards.heads import EndHead, seen_by

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


def aggregate_members(scores: Tensor, how: str, lam: float, *, population: bool = False) -> Tensor:
    """[N] of scores [N, M]: "mean", "worst" (the least), or "uncertain" (mean - lam variance, over M - 1).

    One member has variance 0.
    """
    if how == "worst":
        return scores.amin(1)
    if how == "mean" or scores.shape[1] == 1:
        return scores.mean(1)
    return scores.mean(1) - lam * scores.var(1, correction=0 if population else 1)


@method(name="reward-ensemble", paper="2310.02743", base="grpo(beta=0)", needs={"hidden"}, experimental=True)
class RewardEnsemble:
    """The policy never sees the task's reward, only a pessimistic aggregate of reward models learned from it.

    how: "uncertain" (UWO) is R_i = mean_m r_m - lam var_m(r_m), "worst" (WCO) min_m r_m, "mean" mean_m r_m; in place of
    the task's columns.

    The paper's ensemble is of pretrained language models. Here its `members` are linear heads on the policy's state at
    the end of a completion, each with weights of its own and a `share` of the completions, by a hash of their tokens;
    they learn to predict the verdict, in [0, 1], of every step's completions after these were rewarded, with
    head_lr. warmup: steps with the task's own reward while they begin to. population: variance over M (the best-of-n
    code, lam 0.5).
    Edge cases: one member is its own mean; an empty completion is judged by the bias alone.
    Source: arXiv 2310.02743, the authors' code. Confidence: code (aggregates); the ensemble is ours.
    """

    members: int = 5
    how: Literal["uncertain", "worst", "mean"] = "uncertain"
    lam: float = 0.1
    population: bool = False
    share: float = 0.7
    head_lr: float = 1e-3
    warmup: int = 0

    @hookimpl
    def build(self, policy: Any, state: Any) -> Mapping[str, Trained]:
        """The members, as one module."""
        head = EndHead(policy.model.config.hidden_size, self.members, state.generator)
        return {"ensemble": Trained(head, lr=self.head_lr)}

    @hookimpl
    def annotate(self, batch: Batch, policy: Any) -> Mapping[str, Tensor]:
        """What every member thinks of a completion."""
        return {"ensemble": policy.evaluate(batch).modules["ensemble"].detach().sigmoid()}

    @hookimpl(wrapper=True)
    def shape_rewards(self, state: Any) -> Generator[None, Batch, Batch]:
        """The aggregate, in place of the task's columns."""
        batch = yield
        if state.step < self.warmup:
            return batch
        scores = batch.extras.get("ensemble")
        if scores is None:
            msg = "reward-ensemble needs batch.extras['ensemble'], the members' scores [N, M], which annotate gives"
            raise PluginError(msg)
        reward = aggregate_members(scores.to(batch.rewards.dtype), self.how, self.lam, population=self.population)
        return in_place(batch, "ensemble_reward", reward)

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The members' own loss, on the completions that each of them sees."""
        logits = output.modules["ensemble"]
        target = verdict(batch).to(logits.dtype)[:, None].expand_as(logits)
        errors = nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
        seen = self.sees(batch).to(errors.dtype)
        return (errors * seen).sum() / seen.sum().clamp_min(1)

    def sees(self, batch: Batch) -> Tensor:
        """[N, M] bool: a fixed share of all completions for every member, by their tokens."""
        return seen_by(batch, self.members, self.share)
