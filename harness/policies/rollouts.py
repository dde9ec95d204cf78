"""What is asked of a sampler (`Request`) and what comes back (`Rollouts`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from harness.errors import UsageError

__all__ = ["Request", "Rollouts"]


@dataclasses.dataclass(frozen=True)
class Request:
    """`n` completions of one prompt, numbered from `first_rollout`.

    `max_tokens` bounds the whole completion, a `prefix` included: tokens that every completion of the request begins
    with, with the log-probabilities they were sampled with and a mask (default: all 1). `greedy` takes the likeliest
    token; its log-probabilities are those of the tempered distribution. `key` names the prompt and seeds the noise.
    """

    key: str
    prompt_ids: tuple[int, ...]
    n: int
    temperature: float = 1.0
    max_tokens: int = 40
    greedy: bool = False
    prefix: tuple[int, ...] = ()
    prefix_logp: tuple[float, ...] = ()
    first_rollout: int = 0
    prefix_mask: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        where = f"request for prompt {self.key!r}"
        if self.n < 0 or self.max_tokens < 0:
            raise UsageError(f"{where}: n={self.n} and max_tokens={self.max_tokens} must not be negative")
        if not self.temperature > 0:
            raise UsageError(f"{where}: temperature={self.temperature} must be positive; ask for greedy=True instead")
        if not self.prompt_ids:
            raise UsageError(f"{where}: the prompt has no tokens; encode it with policy.encode_prompt")
        for name in ("prefix_logp", "prefix_mask"):
            if len(getattr(self, name)) not in {0, len(self.prefix)}:
                raise UsageError(f"{where}: {name} has {len(getattr(self, name))} values for {len(self.prefix)} tokens")

    @property
    def new_tokens(self) -> int:
        """The most tokens that one completion may newly generate: the worst case of its charge."""
        return max(self.max_tokens - len(self.prefix), 0)


@dataclasses.dataclass(frozen=True, eq=False)
class Rollouts:
    """M completions, in the order of their requests, padded to T tokens.

    `mask` [M, T] is 1 on tokens that the policy wrote, the end token included; `lengths` counts the same tokens and
    those of a prefix; `truncated` says that a completion hit `max_tokens` before an end token; `generated` counts the
    tokens written in this pass, which are what is charged. `texts` leave the end token out.
    """

    requests: tuple[Request, ...]  # what was asked for, in order
    index: Tensor  # [M] place in `requests` of the request that a row answers
    rollout: Tensor  # [M] number of the completion among those of its prompt
    prompt_ids: Tensor  # [M, P] the prompt's tokens, padded on the left
    prompt_mask: Tensor  # [M, P] 1 where `prompt_ids` is no padding
    completion_ids: Tensor  # [M, T] the completion's tokens, padded on the right
    mask: Tensor  # [M, T] 1 on tokens that the policy wrote, the end token included
    logp: Tensor  # [M, T] log-probabilities with which the tokens were drawn
    lengths: Tensor  # [M] tokens, those of a prefix included
    truncated: Tensor  # [M] bool: it met `max_tokens` before an end token
    temperature: Tensor  # [M] temperature at which it was sampled
    generated: Tensor  # [M] tokens written in this pass, which are what is charged
    texts: tuple[str, ...]  # the completions as text, without the end token
    pieces: Callable[[Sequence[int]], list[str]]  # the text of every one of some token ids
    entropy: Tensor | None = None  # [M, T] of the distributions drawn from, with the need `entropy`
    extras: Mapping[str, Tensor] = dataclasses.field(default_factory=dict)  # M rows each, for `batch.extras`

    def __len__(self) -> int:
        """M, the number of completions."""
        return self.lengths.shape[0]

    def request(self, row: int) -> Request:
        """The request that a completion answers."""
        return self.requests[int(self.index[row])]

    def ids(self, row: int) -> list[int]:
        """The tokens of one completion, end token included, padding left out."""
        return self.completion_ids[row, : int(self.lengths[row])].tolist()

    def token_texts(self, row: int) -> list[str]:
        """The text of every token of one completion."""
        return self.pieces(self.ids(row))

    def replace(self, **changes: object) -> Rollouts:
        """A copy with the given fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def branch(
        self, at: int | Tensor | Sequence[int], *, n: int = 1, rows: Sequence[int] | None = None
    ) -> list[Request]:
        """Requests that continue completions after their first `at` tokens (one number, or one per row).

        The kept tokens keep log-probability and mask and are not charged again. `n` continuations of rollout r are
        numbered from r * n, so that branches of one prompt never share noise.
        """
        chosen = list(range(len(self))) if rows is None else list(rows)
        cuts = [at] * len(chosen) if isinstance(at, int) else torch.as_tensor(at).tolist()
        if len(cuts) != len(chosen):
            raise UsageError(
                f"branch: {len(cuts)} positions for {len(chosen)} completions; give one number or one per row"
            )
        return [self._continuation(row, cut, n) for row, cut in zip(chosen, cuts, strict=True)]

    def _continuation(self, row: int, cut: int, n: int) -> Request:
        cut = min(max(int(cut), 0), int(self.lengths[row]))
        return dataclasses.replace(
            self.request(row),
            n=n,
            prefix=tuple(self.completion_ids[row, :cut].tolist()),
            prefix_logp=tuple(self.logp[row, :cut].tolist()),
            prefix_mask=tuple(self.mask[row, :cut].tolist()),
            first_rollout=int(self.rollout[row]) * n,
        )

    @staticmethod
    def cat(parts: Sequence[Rollouts]) -> Rollouts:
        """Completions of several passes under one another, padded to the widest; indices follow their requests."""
        from harness.policies.padding import cat_left, cat_right

        if len(parts) == 1:
            return parts[0]
        if not parts:
            raise UsageError("Rollouts.cat: nothing to concatenate")
        offsets = [sum(len(p.requests) for p in parts[:i]) for i in range(len(parts))]
        has_entropy = all(p.entropy is not None for p in parts)
        names = set(parts[0].extras).intersection(*(p.extras for p in parts[1:]))
        return dataclasses.replace(
            parts[0],
            requests=tuple(request for p in parts for request in p.requests),
            index=torch.cat([p.index + offset for p, offset in zip(parts, offsets, strict=True)]),
            rollout=torch.cat([p.rollout for p in parts]),
            prompt_ids=cat_left([p.prompt_ids for p in parts]),
            prompt_mask=cat_left([p.prompt_mask for p in parts]),
            completion_ids=cat_right([p.completion_ids for p in parts]),
            mask=cat_right([p.mask for p in parts]),
            logp=cat_right([p.logp for p in parts]),
            lengths=torch.cat([p.lengths for p in parts]),
            truncated=torch.cat([p.truncated for p in parts]),
            temperature=torch.cat([p.temperature for p in parts]),
            generated=torch.cat([p.generated for p in parts]),
            texts=tuple(text for p in parts for text in p.texts),
            entropy=cat_right([p.entropy for p in parts if p.entropy is not None]) if has_entropy else None,
            extras={name: cat_right([p.extras[name] for p in parts]) for name in sorted(names)},
        )
