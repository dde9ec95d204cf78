"""Every hook, in the order in which a training step meets it.

Shapes: N completions, T padded completion length, K reward columns. Every hook may also ask for `state`
(`harness.training.state.State`). "first" hooks return the first value that is not None (the rightmost plugin of the
stack answers first); "all" hooks collect a list. A wrapper (`@hookimpl(wrapper=True)`) sees what lies below it and
returns what replaces it.
"""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from torch import Tensor

    from harness.batch import Batch, PolicyOutput

__all__ = ["HOOKS", "HookSpecs", "hookspec"]

hookspec = pluggy.HookspecMarker("harness")


class HookSpecs:
    """The hook table: `first` hooks are `firstresult`; the others collect."""

    @hookspec
    def start(self, run: Any, state: Any) -> None:
        """Once, before step 0: set state on the plugin. `run.rollout(prompts, n)` gives a charged, scored Batch."""

    @hookspec
    def build(self, policy: Any, task: Any, state: Any) -> Mapping[str, Any]:
        """Once, after `start`: `{name: module}` or `{name: Trained(module, lr=...)}` (critic, probe, dual variable)."""

    @hookspec(firstresult=True)
    def select_prompts(self, pool: Any, count: int, state: Any) -> Sequence[str]:
        """The `count` prompt keys of a round. Default: the next `count` of the shuffled epoch."""

    @hookspec(firstresult=True)
    def allocate_rollouts(self, prompts: Sequence[str], state: Any) -> Sequence[Any]:
        """One Request per prompt (n, temperature, max_tokens). Default: `group_size` each."""

    @hookspec(firstresult=True)
    def generate(self, sampler: Any, requests: Sequence[Any], state: Any) -> Any:
        """The Rollouts of the requests. Default: one sampling pass."""

    @hookspec
    def score(self, rollouts: Any, task: Any, state: Any) -> Mapping[str, Any]:
        """Named reward columns, [N] or per token [N, T]; NaN where a column does not apply to a row."""

    @hookspec(firstresult=True)
    def group_by(self, batch: Batch, state: Any) -> Tensor:
        """Group keys, int [N] or [N, C]. Default: the prompt."""

    @hookspec
    def keep(self, batch: Batch, state: Any) -> Tensor:
        """A bool [N], and-ed: rows that stay; the others leave before any statistic and stay charged."""

    @hookspec(firstresult=True)
    def next_round(self, batch: Batch, round: int, state: Any) -> Sequence[Any] | None:  # noqa: A002 - its name
        """More requests after round `round`, or None to pass to the plugin below. Default: None, one round."""

    @hookspec(firstresult=True)
    def augment(self, batch: Batch, state: Any) -> Batch:
        """The batch with rows added (replay, reference answers). Default: unchanged."""

    @hookspec
    def annotate(self, batch: Batch, policy: Any, state: Any) -> Mapping[str, Tensor]:
        """Extra no-gradient tensors that travel with the rows in `batch.extras`."""

    @hookspec(firstresult=True)
    def shape_rewards(self, batch: Batch, state: Any) -> Batch:
        """The batch with rewards changed, by `batch.add_reward` or `batch.replace(rewards=...)`. Default: unchanged."""

    @hookspec(firstresult=True)
    def estimate_advantages(self, batch: Batch, state: Any) -> Tensor:
        """Advantages [N] or [N, T], detached. Default: reward minus group mean."""

    @hookspec
    def train_on(self, batch: Batch, state: Any) -> Tensor:
        """A bool [N] or [N, T], and-ed: what enters the loss and its denominators; the rest stays in statistics."""

    @hookspec(firstresult=True)
    def aggregate(self, batch: Batch, state: Any) -> Tensor:
        """Weights [N, T] of the token losses of one optimizer minibatch. Default: mask / tokens of the minibatch."""

    @hookspec(firstresult=True)
    def policy_loss(self, batch: Batch, output: PolicyOutput, state: Any) -> Tensor:
        """Token losses [N, T] or [N, 1], to be minimised. Default: PPO clip 0.2."""

    @hookspec(firstresult=True)
    def loss(self, batch: Batch, output: PolicyOutput, hooks: Any, state: Any) -> Tensor:
        """The scalar policy objective of a minibatch. Default: sum(batch.weights * policy_loss)."""

    @hookspec
    def regularize(self, batch: Batch, output: PolicyOutput, state: Any) -> Tensor:
        """A scalar, or [N, T] terms which get the loss's weights; summed into the loss."""

    @hookspec(firstresult=True)
    def update(self, learner: Any, batch: Batch, state: Any) -> Mapping[str, float]:
        """Step metrics. Default: epochs over minibatches, clip the gradient norm, step."""

    @hookspec
    def end_step(self, batch: Batch, metrics: Mapping[str, float], state: Any) -> Mapping[str, float] | None:
        """None, or metrics to log; `state.gathered` has the dropped rows too."""


HOOKS: tuple[str, ...] = tuple(name for name, value in vars(HookSpecs).items() if callable(value))
