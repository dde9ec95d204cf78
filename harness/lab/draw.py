"""Batches of a world as hooks receive them: completions drawn from a policy that may be stale, rewards that may lie."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from functools import cached_property

import torch
from torch import Tensor

from harness.batch import Batch, PolicyOutput, PromptRecord
from harness.lab.worlds import World
from harness.probe_inputs import plain_batch

__all__ = ["Setting", "Simulation", "parts"]

STALE_SEED = 7
_ROWS = [  # fields of a batch that have a row for every completion
    field.name for field in dataclasses.fields(Batch)
    if "Tensor" in str(field.type) and field.name not in {"reward_weights", "token_columns", "extras"}
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Setting:
    """One place on the axes: completions a prompt, pass rates, share of flipped verdicts, distance of the sampler.

    `stale` is the standard deviation of the noise between the logits sampled from and those trained.
    """

    group_size: int = 8
    difficulty: str = "mixed"
    noise: float = 0.0
    stale: float = 0.0

    @property
    def label(self) -> str:
        """What differs from the reference setting."""
        plain = Setting()
        parts = [f"G={self.group_size}"]
        parts += [self.difficulty] if self.difficulty != plain.difficulty else []
        parts += [f"noise {self.noise:g}"] if self.noise else []
        parts += [f"stale {self.stale:g}"] if self.stale else []
        return ", ".join(parts)


def parts(batch: Batch, counts: Sequence[int]) -> list[Batch]:
    """The rows of a batch cut into batches of the given numbers of rows, as views; none where the number is 0."""
    split = {name: getattr(batch, name).split(counts) for name in _ROWS if getattr(batch, name) is not None}
    columns = _split_each(batch.token_columns, counts)
    extras = _split_each(batch.extras, counts)
    ends = list(itertools.accumulate(counts, initial=0))
    return [
        batch.replace(
            **{name: pieces[number] for name, pieces in split.items()},
            prompts=batch.prompts[ends[number] : ends[number + 1]],
            token_columns={name: pieces[number] for name, pieces in columns.items()},
            extras={name: pieces[number] for name, pieces in extras.items()},
        )
        for number, count in enumerate(counts)
        if count
    ]


def _split_each(tensors: Mapping[str, Tensor], counts: Sequence[int]) -> dict[str, Sequence[Tensor]]:
    return {name: value.split(counts) for name, value in tensors.items()}


class Simulation:
    """M batches of one world and setting, drawn once; every method sees the same.

    rows are ordered (batch, prompt, completion): N = M B G. `choice` [M, B, G] is which completion was drawn.
    """

    def __init__(self, world: World, setting: Setting, batches: int, seed: int = 0) -> None:
        self.world, self.setting, self.batches = world, setting, batches
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(
            world.logits.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(STALE_SEED)
        )
        self.old = world.logits + setting.stale * noise
        chances = world.probabilities(self.old)
        count = batches * setting.group_size
        drawn = torch.multinomial(chances.float(), count, replacement=True, generator=generator)  # [B, M G]
        self.choice = drawn.reshape(len(chances), batches, setting.group_size).transpose(0, 1).contiguous()
        flips = torch.rand(self.choice.shape, generator=generator) < setting.noise
        self.rewards, self.correct = self._verdicts(flips)

    @property
    def prompts(self) -> int:
        """B."""
        return self.choice.shape[1]

    @cached_property
    def batch(self) -> Batch:
        """All batches as one, a group for every prompt of every batch."""
        world, choice = self.world, self.choice
        flat = choice.reshape(-1)
        groups = torch.arange(self.batches * self.prompts).repeat_interleave(choice.shape[2])
        mask = world.mask[flat]
        logp_old = self._rows(world.token_logp(self.old))
        made = plain_batch({
            "mask": mask.numpy(),
            "rewards": self.rewards.reshape(len(flat), -1).numpy(),
            "reward_names": world.names,
            "reward_weights": world.weights.numpy(),
            "group": groups.numpy(),
            "correct": self.correct.reshape(-1).numpy(),
            "max_tokens": mask.shape[1],
        })  # fmt: skip
        records = [PromptRecord(str(number), "", world.name) for number in range(self.prompts)]
        return made.replace(
            completion_ids=world.tokens[flat],
            truncated=world.truncated[flat],
            logp_old=logp_old,
            logp_sampler=logp_old,
            logp_ref=logp_old,
            entropy=self._rows(self._entropies(self.old)) * mask,
            greedy_reward=self._greedy()[groups % self.prompts],
            age=torch.full_like(flat, int(self.setting.stale > 0)),
            prompts=tuple(records[number] for number in (groups % self.prompts).tolist()),
        )

    @cached_property
    def each(self) -> list[Batch]:
        """Every batch by itself, its groups numbered from 0: views of `batch`."""
        rows = self.prompts * self.choice.shape[2]
        groups = self.batch.prompt[:rows]
        cut = parts(self.batch, [rows] * self.batches)
        return [one.replace(prompt=groups, group_keys=groups) for one in cut]

    @cached_property
    def gradient(self) -> Tensor:
        """[B, S, V] the true one."""
        return self.world.gradient(self.world.logits)

    @cached_property
    def advantage(self) -> Tensor:
        """[B, C] the true one of every completion."""
        return self.world.advantage(self.world.logits)

    def output(self, batch: Batch, leaf: Tensor) -> PolicyOutput:
        """What the trained policy says of a batch: log-probabilities `leaf` [N, T], entropies without gradient."""
        assert batch.logp_old is not None
        return PolicyOutput(logp=leaf, logp_old=batch.logp_old, mask=batch.mask, entropy=batch.entropy)

    @cached_property
    def logp(self) -> Tensor:
        """[N, T] log-probabilities of the drawn tokens under the policy that is trained."""
        return self._rows(self.world.token_logp(self.world.logits))

    def to_logits(self, by_logp: Tensor) -> Tensor:
        """[M, B, S V] gradients with respect to the logits, one a batch, from those [N, T] of log-probabilities.

        They may be of the first batches only.
        """
        batches = len(by_logp) // (self.prompts * self.choice.shape[2])
        leaf = self.world.logits.expand(batches, *self.world.logits.shape).clone().requires_grad_()
        logp = self._rows(self.world.token_logp(leaf), self.choice[:batches])
        (found,) = torch.autograd.grad(logp, leaf, by_logp)
        return found.flatten(2)

    # -- inside --------------------------------------------------------------------------------------------------

    def _rows(self, table: Tensor, choice: Tensor | None = None) -> Tensor:
        """[N, T] the entries [B, C, T] or [M, B, C, T] of the drawn completions."""
        choice = self.choice if choice is None else choice
        table = table if table.dim() == 4 else table.expand(choice.shape[0], *table.shape)
        index = choice[..., None].expand(*choice.shape, table.shape[-1])
        return table.gather(2, index).reshape(-1, table.shape[-1])

    def _entropies(self, logits: Tensor) -> Tensor:
        """[B, C, T] entropy of the context of every token."""
        table = torch.log_softmax(logits, -1)
        return -(table.exp() * table).sum(-1)[:, self.world.contexts]

    def _greedy(self) -> Tensor:
        """[B] the reward of the likeliest completion."""
        best = self.world.probabilities(self.old).argmax(-1)
        return self.world.reward[torch.arange(len(best)), best]

    def _verdicts(self, flips: Tensor) -> tuple[Tensor, Tensor]:
        """Reward columns [M, B, G, K] and verdicts [M, B, G] with some verdicts flipped; the truth stays the target."""
        world = self.world
        prompts = torch.arange(world.correct.shape[0])[None, :, None].expand_as(self.choice)
        correct = world.correct[prompts, self.choice] ^ flips
        rewards = world.rewards[prompts, self.choice].clone()
        rewards[..., 0] = correct.double()
        return rewards, correct
