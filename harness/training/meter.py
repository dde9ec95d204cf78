"""What hooks use of sampler and policies, metered: every pass is charged before it runs and never past the budget."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness.budget import BudgetSpent, Cost, Ledger
from harness.training.passes import Pass, exact_kl, row_tokens

if TYPE_CHECKING:
    from harness.batch import Batch, PolicyOutput
    from harness.engines import EngineSampler
    from harness.policies.policy import Policy
    from harness.policies.rollouts import Request, Rollouts
    from harness.policies.sampler import Sampler
    from harness.training.state import State

__all__ = ["MeteredPolicy", "MeteredSampler", "worst_case"]


Prompt = tuple[str, tuple[int, ...]]  # a request's key and prompt tokens: what is paid once a round


def worst_case(requests: Sequence[Request], paid: Collection[Prompt] = ()) -> Cost:
    """What sampling the requests costs when every completion runs to its limit; prompts in `paid` are free."""
    prompts = _prompt_tokens(_prompts(requests).difference(paid))
    tokens = sum(request.n * request.new_tokens for request in requests)
    return Cost.generation(prompts, tokens, sum(request.n for request in requests))


class MeteredSampler:
    """The sampler that `generate` receives. Repeated passes of one round have noise streams of their own."""

    def __init__(self, sampler: Sampler | EngineSampler, ledger: Ledger, state: State, *, want_entropy: bool) -> None:
        self._sampler = sampler
        self._ledger = ledger
        self._state = state
        self._want_entropy = want_entropy
        self._place = (-1, -1)
        self._calls: dict[str, int] = {}
        self._paid: dict[str, set[Prompt]] = {}  # by category, in this round

    def generate(
        self, requests: Sequence[Request], *, stream: str = "train", category: str = "generate", **_: Any
    ) -> Rollouts:
        """Completions of every request. Seed, step and round are the trial's own, whatever is passed for them."""
        state, ledger = self._state, self._ledger
        if (state.step, state.round) != self._place:
            self._place, self._calls, self._paid = (state.step, state.round), {}, {}
        paid = self._paid.setdefault(category, set())
        worst = worst_case(requests, paid)
        if not ledger.fits(worst):
            price = f"may cost {ledger.amount(worst):g}, {ledger.left:g} is left"
            msg = f"{category} of {worst.rollouts:g} completions {price}"
            raise BudgetSpent(msg)
        before = self._calls.get(stream, 0)
        self._calls[stream] = before + 1
        rollouts = self._sampler.generate(
            list(requests),
            seed=state.seed,
            step=state.step,
            round=state.round,
            want_entropy=self._want_entropy,
            stream=f"{stream}/{before}" if before else stream,
        )
        fresh = _prompts(requests) - paid
        self._charge(_prompt_tokens(fresh), rollouts, category)
        paid |= fresh
        return rollouts

    def _charge(self, prompts: int, rollouts: Rollouts, category: str) -> None:
        tokens = int(rollouts.generated.sum())
        if category == "generate":
            self._ledger.charge("prompt", Cost(compute=prompts))
            self._ledger.charge("generate", Cost(tokens, tokens, len(rollouts)))
            self._ledger.count(
                rollouts_requested=len(rollouts),
                rollouts_truncated=int(rollouts.truncated.sum()),
                tokens_prompt=prompts,
                tokens_generated=tokens,
            )
        else:
            self._ledger.charge(category, Cost.generation(prompts, tokens, len(rollouts)))
            self._ledger.count(**{f"rollouts_{category}": len(rollouts), f"tokens_{category}": tokens})


class MeteredPolicy:
    """A policy as hooks see it: its attributes, and passes that are charged to `category`."""

    def __init__(
        self, policy: Policy, ledger: Ledger, category: str, *, size: float = 1.0, system: str | None = None
    ) -> None:
        self._policy = policy
        self._system = system
        self._ledger = ledger
        self._category = category
        self._size = size
        self._cached: tuple[Any, PolicyOutput] | None = None
        self.micro_batch = 64
        self.modules: Mapping[str, Any] = {}
        self.module_sizes: Mapping[str, float] = {}
        self.needs: frozenset[str] = frozenset()

    def __getattr__(self, name: str) -> Any:
        """Everything else is the policy's own: model, tokenizer, encode, decode, n_params ..."""
        return getattr(self._policy, name)

    def encode_prompt(self, text: str, system: str | None = None) -> list[int]:
        """The tokens that a completion of `text` follows, under the suite's system prompt if it has one."""
        return self._policy.encode_prompt(text, self._system if system is None else system)

    def score(self, prompt_ids: Any, completion_ids: Any, **options: Any) -> Tensor:
        """Log-probabilities [N, T] of any tokens, without gradient; charged a forward of prompts and completions."""
        tokens = _count(prompt_ids, options.get("prompt_mask")) + _count(completion_ids, options.get("mask"))
        self._ledger.charge(self._category, Cost.forward(tokens, self._size))
        return self._policy.score(prompt_ids, completion_ids, **options)

    def evaluate(self, batch: Batch) -> PolicyOutput:
        """What this policy says about a batch, without gradient: log-probabilities, needs, outputs of built modules.

        Free where the loop has already made this very pass in this step (`logp_old`); charged otherwise.
        """
        known = self.known(batch)
        if known is None:
            known = self.run(batch, self._category)
            self.remember(batch, known)
        return known

    def kl(self, batch: Batch, other: MeteredPolicy) -> Tensor:
        """KL(self || other) [N, T] over the whole vocabulary at every token, no gradient; a charged pass of both."""
        tokens = int(row_tokens(batch).sum())
        for one in (self, other):
            one._ledger.charge(one._category, Cost.forward(tokens, one._size))  # noqa: SLF001 - one of us
        return exact_kl(self._policy, other._policy, batch, self.micro_batch)

    def run(self, batch: Batch, category: str) -> PolicyOutput:
        """A charged pass over all rows of a batch."""
        tokens = int(row_tokens(batch).sum())
        cost = Cost.forward(tokens, self._size)
        modules = {name: Cost.forward(tokens, size) for name, size in self.module_sizes.items()}
        self._ledger.charge(category, cost)
        for name, module_cost in modules.items():
            self._ledger.charge(f"module:{name}", module_cost)
        work = Pass(self._policy, batch, self.needs, self.modules, self.micro_batch)
        return work.output(work.without_gradient())

    def remember(self, batch: Batch, output: PolicyOutput) -> None:
        """Give this output to `evaluate` for the same tokens."""
        self._cached = (batch.completion_ids, output)

    def known(self, batch: Batch) -> PolicyOutput | None:
        """The output that is remembered for these tokens."""
        return self._cached[1] if self._cached is not None and self._cached[0] is batch.completion_ids else None

    def forget(self) -> None:
        """The weights have moved."""
        self._cached = None


def _prompts(requests: Sequence[Request]) -> set[Prompt]:
    return {(request.key, request.prompt_ids) for request in requests if request.n}


def _prompt_tokens(prompts: Collection[Prompt]) -> int:
    return sum(len(ids) for _, ids in prompts)


def _count(ids: Any, mask: Tensor | None) -> int:
    if mask is not None:
        return int(mask.to(torch.long).sum()) if mask.dim() > 1 else int(mask.sum())
    return ids.numel() if isinstance(ids, Tensor) else sum(map(len, ids))
