"""What every hook may ask for: where the trial stands, its prompts and policy, and ways to ask for more rollouts."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from harness.policies.rollouts import Request

if TYPE_CHECKING:
    from harness.batch import Batch
    from harness.tasks.base import Problem
    from harness.tasks.mixture import Mixture
    from harness.tasks.pool import PromptPool
    from harness.training.config import TrialConfig
    from harness.training.meter import MeteredPolicy

__all__ = ["State", "StepPool", "derive_seed", "seeded"]


def derive_seed(*parts: object) -> int:
    """A 63-bit seed from named parts: streams are keyed, never drawn from one another."""
    text = "/".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little") >> 1


@contextlib.contextmanager
def seeded(*parts: object) -> Iterator[None]:
    """Torch's global generator keyed by named parts inside the block, and as it was after it.

    For plugins that draw from it (a module's initial weights, say): they should use `state.generator`, but a trial
    must not depend on what the process did before.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(*parts))
        yield


class StepPool:
    """The prompt pool as the current round of the current step sees it.

    Round 0 reads the step's slice of the shuffled epoch; later rounds draw from a stream of their own, without the
    prompts that the step has already.
    """

    def __init__(self, pool: PromptPool, state: State) -> None:
        self._pool = pool
        self._state = state

    @property
    def keys(self) -> tuple[str, ...]:
        """Every prompt key."""
        return self._pool.keys

    def __len__(self) -> int:
        return len(self._pool)

    def problem(self, key: str) -> Problem:
        """The problem of a key."""
        return self._pool.problem(key)

    def at_step(self, step: int, count: int) -> list[str]:
        """The next `count` keys of the step."""
        state = self._state
        if not state.round:
            return self._pool.at_step(step, count)
        state.draws += 1
        used = state.places
        wanted = min(len(self._pool), count + len(used))
        drawn = self._pool.draw(wanted, f"round-{state.round}-{state.draws}", step)
        fresh = [key for key in drawn if key not in used]
        return fresh[:count]

    def draw(self, count: int, stream: str, step: int) -> list[str]:
        """`count` keys of a named stream."""
        return self._pool.draw(count, stream, step)


class State:
    """Shared by the hooks of one trial; the loop owns every attribute, hooks read them.

    `policy`, `reference` and `modules` are metered: what a hook asks of them is charged. `gathered` is every row of
    the step so far with `batch.kept`, dropped rows included. `metrics` collects what the step will log; a hook may add
    numbers to it.
    """

    def __init__(self, config: TrialConfig, pool: PromptPool, task: Mixture, policy: MeteredPolicy) -> None:
        self.seed = config.seed  # the trial's seed
        self.group_size = config.sampling.group_size  # completions per prompt, unless a request says otherwise
        self.prompts_per_step = config.sampling.prompts  # prompts of a round
        self.temperature = config.sampling.temperature  # that of a request which names none
        self.max_tokens = config.sampling.max_tokens  # the limit of a completion
        self.max_rounds = config.sampling.max_rounds  # how often `next_round` may ask for more, the first included
        self.minibatches = config.learner.minibatches  # into how many optimizer minibatches a batch is cut
        self.updates_per_batch = config.learner.updates_per_batch  # how often each of them is used
        self.pool = StepPool(pool, self)  # the prompts
        self.task = task  # the task: `score(rollouts)`, `columns`, `reward_weights`
        self.policy = policy  # the policy, charged
        self.reference: MeteredPolicy | None = None  # the initial policy, with the need `reference`
        self.modules: dict[str, Any] = {}  # what `build` returned, by name; charged
        self.hooks: Any = None  # the stack's hooks, each a method
        self.step = 0  # number of the step
        self.progress = 0.0  # share of the budget that is spent, 0 to 1
        self.round = 0  # number of the round within the step
        self.gathered: Batch | None = None  # every row of the step so far, dropped ones too (`kept`)
        self.metrics: dict[str, float] = {}  # what the step will log; a hook may add numbers
        self.places: dict[str, int] = {}
        self.draws = 0
        self._generators: dict[str, torch.Generator] = {}
        self._encoded: dict[str, tuple[int, ...]] = {}

    def begin_step(self, step: int, progress: float) -> None:
        """Forget the last step: everything a step does is a function of the weights, the seed and its number."""
        self.step, self.progress, self.round, self.draws = step, progress, 0, 0
        self.gathered = None
        self.metrics = {}
        self.places = {}
        self._generators = {}

    @property
    def generator(self) -> torch.Generator:
        """Random numbers keyed by (seed, step, hook), never by a plugin's name; continues within a step."""
        hook = (self.hooks.current if self.hooks is not None else None) or "start"
        if hook not in self._generators:
            self._generators[hook] = torch.Generator().manual_seed(derive_seed(self.seed, self.step, hook))
        return self._generators[hook]

    def request(  # noqa: PLR0917 - the public signature
        self,
        prompt: str,
        n: int | None = None,
        text: str | None = None,
        prefix: Sequence[int] | Mapping[str, Sequence[float]] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> Request:
        """`n` (default: the group size) completions of the prompt with key `prompt`.

        `text` replaces the prompt's text (an extended or rewritten prompt; it still counts as this prompt and is
        scored as it). `prefix` is token ids that every completion starts with, as given, or a mapping with `ids`, and
        optionally `logp` and `mask`. `max_tokens` bounds the whole completion.
        """
        parts = prefix if isinstance(prefix, Mapping) else {"ids": prefix or ()}
        return Request(
            key=prompt,
            prompt_ids=self._prompt_ids(self.pool.problem(prompt).prompt if text is None else text),
            n=self.group_size if n is None else int(n),
            temperature=self.temperature if temperature is None else float(temperature),
            max_tokens=self.max_tokens if max_tokens is None else int(max_tokens),
            prefix=tuple(int(i) for i in parts["ids"]),
            prefix_logp=tuple(float(x) for x in parts.get("logp", ())),
            prefix_mask=tuple(float(x) for x in parts.get("mask", ())),
        )

    def draw(self, n: int) -> list[Request]:
        """Select and allocate `n` more prompts, through the stack's own hooks."""
        prompts = self.hooks.select_prompts(pool=self.pool, count=n)
        return list(self.hooks.allocate_rollouts(prompts=prompts))

    def place(self, key: str) -> int:
        """The prompt's number within the step, in the order in which prompts first appeared."""
        return self.places.setdefault(key, len(self.places))

    def _prompt_ids(self, text: str) -> tuple[int, ...]:
        if text not in self._encoded:
            if len(self._encoded) > 65536:
                self._encoded.clear()
            self._encoded[text] = tuple(self.policy.encode_prompt(text))
        return self._encoded[text]
