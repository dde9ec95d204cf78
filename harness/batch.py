"""What hooks receive: the frozen `Batch` of completions and the `PolicyOutput` of a forward pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from harness.groups import Groups

__all__ = ["Batch", "PolicyOutput", "PromptRecord", "TopLogits"]

LOG_RATIO_LIMIT = 20.0


@dataclasses.dataclass(frozen=True)
class PromptRecord:
    """The prompt that a row answers."""

    key: str  # names it everywhere: `state.request(key)`, `state.pool.problem(key)`
    text: str  # what the policy reads
    task: str  # the name of its task


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """N completions, padded to T tokens, with everything that a training step knows about them.

    Prompts are left-padded [N, P], completions right-padded [N, T]; `mask` [N, T] has the dtype of the
    log-probabilities and is 1 on tokens that the policy wrote and that may train. Optional fields are None until the
    stage that fills them has run, or when no plugin of the stack asked for them.
    """

    prompt_ids: Tensor  # [N, P] the prompt's tokens
    prompt_mask: Tensor  # [N, P] 1 where `prompt_ids` is no padding
    completion_ids: Tensor  # [N, T] the completion's tokens
    mask: Tensor  # [N, T] 1 on tokens that the policy wrote and that may train, else 0
    logp_sampler: Tensor  # [N, T] log-probabilities with which the tokens were drawn
    prompt: Tensor  # [N] number of the prompt within the step
    rollout: Tensor  # [N] number of the completion among those of its prompt
    round: Tensor  # [N] round in which it was sampled, from 0
    age: Tensor  # [N] how many steps old the weights were that sampled it; 0 where the suite has no lag
    rewards: Tensor  # [N, K] reward columns, the task's first; NaN where a column does not apply to a row
    reward_names: tuple[str, ...]  # names of the K columns
    reward_weights: Tensor  # [K] weights of the columns in `reward`
    correct: Tensor  # [N] bool: the task's verdict, which no hook may change
    lengths: Tensor  # [N] tokens of the completion, its end token and a prefix included
    truncated: Tensor  # [N] bool: it met the limit before an end token
    temperature: Tensor  # [N] temperature at which it was sampled
    max_tokens: int  # the limit of a completion
    prompts: tuple[PromptRecord, ...]  # key, text and task of every row's prompt
    group_keys: Tensor  # [N] or [N, C] what `group_by` gave; `groups` is made of them
    kept: Tensor  # [N] bool: what `keep` said; False only in `state.gathered`
    token_columns: Mapping[str, Tensor] = dataclasses.field(default_factory=dict)  # [N, T] columns per token, by name
    extras: Mapping[str, Tensor] = dataclasses.field(default_factory=dict)  # N rows each: what `annotate` gave, by name
    logp_old: Tensor | None = None  # [N, T] before the first update; None until the loss where a batch gives one update
    logp_ref: Tensor | None = None  # [N, T] of the reference policy
    entropy: Tensor | None = None  # [N, T] of the policy's distribution over next tokens
    greedy_reward: Tensor | None = None  # [N] reward of one greedy completion of the row's prompt
    advantages: Tensor | None = None  # [N, 1] or [N, T], set after `estimate_advantages`
    weights: Tensor | None = None  # [N, T] of the token losses, set after `aggregate`

    def __len__(self) -> int:
        """N, the number of completions."""
        return self.mask.shape[0]

    @property
    def tokens(self) -> int:
        """T, the padded completion length."""
        return self.mask.shape[1]

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.mask.device

    # -- derived -------------------------------------------------------------------------------------------------

    @cached_property
    def groups(self) -> Groups:
        """The groups of the default keys (`group_by`): one per prompt unless a plugin says otherwise."""
        return Groups(self.group_keys)

    @cached_property
    def reward(self) -> Tensor:
        """[N] weighted sum of the reward columns that apply to the row (NaN columns are left out)."""
        return torch.nan_to_num(self.rewards * self.reward_weights).sum(-1)

    @cached_property
    def token_rewards(self) -> Tensor:
        """[N, T] weighted rewards per token: token columns where they are, outcomes on the last token of a row."""
        total = torch.zeros_like(self.mask, dtype=self.rewards.dtype)
        outcome = torch.zeros_like(self.rewards[:, 0])
        for column, name in enumerate(self.reward_names):
            weight = self.reward_weights[column]
            if name in self.token_columns:
                total = total + weight * torch.nan_to_num(self.token_columns[name])
            else:
                outcome = outcome + weight * torch.nan_to_num(self.rewards[:, column])
        return total + outcome[:, None] * self.last_token

    @cached_property
    def last_token(self) -> Tensor:
        """[N, T] 1 on the last masked-in token of each row, all 0 for an empty row."""
        positions = torch.arange(1, self.tokens + 1, device=self.device) * (self.mask > 0)
        last = positions.amax(-1, keepdim=True) if self.tokens else positions
        return ((positions == last) & (positions > 0)).to(self.rewards.dtype)

    @property
    def trains(self) -> Tensor:
        """[N] bool: False for rows of which `train_on` left out every token; completions of length 0 count as ever."""
        return (self.mask > 0).any(-1) | (self.lengths == 0)

    @cached_property
    def advantage(self) -> Tensor:
        """[N] the masked mean of `advantages` (the value itself where the row has no token)."""
        if self.advantages is None:
            msg = "batch.advantage is set after estimate_advantages; this hook runs before it"
            raise AttributeError(msg)
        if self.advantages.shape[1] == 1:
            return self.advantages[:, 0]
        return self.sequence_mean(self.advantages)

    # -- helpers -------------------------------------------------------------------------------------------------

    def sequence_sum(self, x: Tensor) -> Tensor:
        """[N] sum of x [N, T] over the masked-in tokens; values at masked-out tokens never count, NaN included."""
        return torch.where(self.mask > 0, x * self.mask, torch.zeros((), dtype=x.dtype, device=x.device)).sum(-1)

    def sequence_mean(self, x: Tensor) -> Tensor:
        """[N] mean of x [N, T] over the masked-in tokens; 0 for a row without any."""
        return self.sequence_sum(x) / self.mask.sum(-1).clamp_min(1)

    def add_reward(self, name: str, values: Tensor, weight: float = 1.0) -> Batch:
        """The batch with one more reward column: values [N], or [N, T] for a token column.

        Raises ValueError if the name is taken or the shape is neither.
        """
        if name in self.reward_names:
            msg = f"reward column {name!r} exists already; choose another name or batch.replace(rewards=...)"
            raise ValueError(msg)
        columns = dict(self.token_columns)
        if values.shape == self.mask.shape and values.dim() == 2:
            columns[name] = values.to(self.rewards.dtype)
            values = self.sequence_sum(columns[name])
        elif values.shape != self.rewards.shape[:1]:
            expected = f"[{len(self)}] or {[*self.mask.shape]}"
            msg = f"reward column {name!r} has shape {tuple(values.shape)}; expected {expected}"
            raise ValueError(msg)
        new_weight = self.reward_weights.new_tensor([weight])
        return self.replace(
            rewards=torch.cat([self.rewards, values.to(self.rewards.dtype)[:, None]], 1),
            reward_names=(*self.reward_names, name),
            reward_weights=torch.cat([self.reward_weights, new_weight]),
            token_columns=columns,
        )

    def replace(self, **changes: Any) -> Batch:
        """A copy with the given fields changed."""
        return dataclasses.replace(self, **changes)

    def with_extras(self, **tensors: Tensor) -> Batch:
        """The batch with named tensors added to `extras`; an existing name is never overwritten."""
        taken = sorted(set(tensors) & set(self.extras))
        if taken:
            msg = f"batch.extras already holds {', '.join(taken)}; extras may be added, never overwritten"
            raise ValueError(msg)
        return self.replace(extras={**self.extras, **tensors})

    def __getitem__(self, index: Tensor | slice | Sequence[int]) -> Batch:
        """The rows chosen by a bool or integer index; per-row fields are indexed, the others kept."""
        if isinstance(index, slice):
            rows = torch.arange(len(self), device=self.device)[index]
        else:
            rows = torch.as_tensor(index, device=self.device)
            rows = rows.nonzero()[:, 0] if rows.dtype == torch.bool else rows.long()
        changes: dict[str, Any] = {name: getattr(self, name)[rows] for name in _ROW_FIELDS}
        changes |= {name: value[rows] for name in _OPTIONAL if (value := getattr(self, name)) is not None}
        changes["prompts"] = tuple(self.prompts[i] for i in rows.tolist())
        changes["token_columns"] = {name: value[rows] for name, value in self.token_columns.items()}
        changes["extras"] = {name: value[rows] for name, value in self.extras.items()}
        return self.replace(**changes)

    def to(self, device: torch.device | str) -> Batch:
        """The batch with every tensor on `device`."""
        changes: dict[str, Any] = {name: getattr(self, name).to(device) for name in (*_ROW_FIELDS, "reward_weights")}
        changes |= {name: value.to(device) for name in _OPTIONAL if (value := getattr(self, name)) is not None}
        changes["token_columns"] = {name: value.to(device) for name, value in self.token_columns.items()}
        changes["extras"] = {name: value.to(device) for name, value in self.extras.items()}
        return self.replace(**changes)

    @staticmethod
    def cat(batches: Sequence[Batch]) -> Batch:
        """Rows of several batches under one another, re-padded to the widest; see `harness.batching.cat`."""
        from harness.batching import cat

        return cat(batches)


_ROW_FIELDS = (
    "prompt_ids", "prompt_mask", "completion_ids", "mask", "logp_sampler", "prompt", "rollout", "round", "age",
    "rewards", "correct", "lengths", "truncated", "temperature", "group_keys", "kept",
)  # fmt: skip
_OPTIONAL = ("logp_old", "logp_ref", "entropy", "greedy_reward", "advantages", "weights")


@dataclasses.dataclass(frozen=True)
class TopLogits:
    """The likeliest tokens at every position: ids [N, T, 20] and their log-probabilities [N, T, 20]."""

    ids: Tensor
    logp: Tensor


@dataclasses.dataclass(frozen=True, eq=False)
class PolicyOutput:
    """What the policy says about a minibatch, with gradient: log-probabilities and whatever `needs` asked for."""

    logp: Tensor  # [N, T] log-probabilities of the completion's tokens
    logp_old: Tensor  # [N, T] the same before the first update of the step, without gradient
    mask: Tensor  # [N, T] that of the batch
    entropy: Tensor | None = None  # [N, T] of the distributions over next tokens
    hidden: Tensor | None = None  # [N, T, width] last hidden states, from which each token was predicted
    prompt_hidden: Tensor | None = None  # [N, width] last hidden state of the prompt
    top_logits: TopLogits | None = None  # `ids` and `logp` [N, T, 20] of the likeliest next tokens
    modules: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # what the modules of `build` gave, by name

    @cached_property
    def log_ratio(self) -> Tensor:
        """[N, T] log pi - log pi_old, clamped to +-20, 0 where masked."""
        gap = torch.where(self.mask > 0, self.logp - self.logp_old, torch.zeros_like(self.logp))
        return gap.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)

    @cached_property
    def ratio(self) -> Tensor:
        """[N, T] pi / pi_old, 1 where masked."""
        return self.log_ratio.exp()
