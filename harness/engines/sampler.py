"""A sampler over an engine: requests in, `Rollouts` out, and weights that follow the policy."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from harness.engines.arrival import Arrivals
from harness.engines.base import Answer, Engine, Job, SamplerSettings
from harness.engines.handshake import check_agreement
from harness.errors import HarnessError
from harness.policies.assemble import Written, assemble
from harness.policies.noise import key64, pass_key
from harness.policies.padding import length_mask
from harness.policies.sampler import Asked, Sampler

if TYPE_CHECKING:
    from harness.policies.policy import Policy
    from harness.policies.rollouts import Request, Rollouts

__all__ = ["EngineSampler", "open_sampler"]

SEEDS = 2**63 - 1


@contextlib.contextmanager
def open_sampler(policy: Policy, settings: SamplerSettings) -> Iterator[Sampler | EngineSampler]:
    """The sampler that a suite asks for; an engine is started here and ended on leaving."""
    if settings.engine == "builtin":
        yield Sampler(policy)
        return
    folder = Path(tempfile.mkdtemp(prefix="harness-weights-"))
    started: list[Engine] = []

    def begin() -> None:
        from harness.engines.vllm import start

        save(policy, folder)
        started.append(start(folder, policy, settings.vllm))
        check_agreement(policy, started[0])

    try:
        policy.world.first(begin)  # of several ranks, the first samples for all
        yield EngineSampler(policy, started[0] if started else None, folder)
    finally:
        for engine in started:
            engine.close()
        shutil.rmtree(folder, ignore_errors=True)


class EngineSampler:
    """Completions from an engine, which gets the policy's weights before every pass in which they have moved.

    Each completion has a seed of its own, of (seed, step, round, prompt, number). An engine that batches does not
    promise the same last bits on every run, and so not the same texts: runs are reproducible in distribution only.
    `extras["weights"]` [M] stamps completions with how often the weights had moved.
    """

    def __init__(self, policy: Policy, engine: Engine | None, folder: Path) -> None:
        """`folder` holds the weights that the engine has, and is where new ones are written.

        Of several ranks only the first has an engine; all receive what it wrote.
        """
        self.policy = policy
        self.engine = engine
        self.folder = folder
        self.version = 0
        self._has = fingerprint(policy)
        self._arrivals = Arrivals(policy, engine) if engine is not None else None

    def generate(
        self,
        requests: Sequence[Request],
        *,
        seed: int,
        step: int,
        round: int = 0,  # noqa: A002 - the name of the thing
        want_entropy: bool = False,
        stream: str = "train",
    ) -> Rollouts:
        """Completions of every request, in order. Entropies are not to be had here: `want_entropy` gives none."""
        del want_entropy
        asked = Asked(requests, self.policy)
        key = pass_key(seed, step, round, stream)
        rows = (asked.limit > 0).nonzero()[:, 0].tolist()
        jobs = [_job(asked, row, key) for row in rows]
        answers, self.version = self.policy.world.first(lambda: (self._written(jobs), self.version))
        written = Written(len(asked), asked.width, self.policy, want_entropy=False)
        for row, answer in zip(rows, answers, strict=True):
            _put(written, row, answer, self.policy.stop_ids)
        rollouts = tempered(assemble(asked, written, self.policy), self.policy)
        stamp = torch.full_like(rollouts.lengths, self.version)
        return rollouts.replace(extras={**rollouts.extras, "weights": stamp})

    def _written(self, jobs: Sequence[Job]) -> list[Answer]:
        self.follow()
        assert self.engine is not None
        return self.engine.write(jobs, self.policy.stop_ids)

    def follow(self) -> None:
        """Give the engine the policy's weights if they have moved since it got them, and see that it has them."""
        now = fingerprint(self.policy)
        if now == self._has:
            return
        assert self.engine is not None
        assert self._arrivals is not None
        save(self.policy, self.folder)
        self.engine.load(self.folder)
        self._arrivals.check(self.policy, self.engine)
        self._has = now
        self.version += 1


def save(policy: Policy, folder: Path) -> None:
    """Write the policy, into new files: an engine may still have the old ones mapped into its memory.

    In bfloat16 where the engine computes in it: it would round them itself, and half as many bytes are written.
    """
    for file in folder.glob("*.safetensors"):
        file.unlink()
    policy.save(folder, torch.bfloat16 if policy.precision == "bfloat16" else None)


def tempered(rollouts: Rollouts, policy: Policy) -> Rollouts:
    """Greedy completions with log-probabilities at their own temperature, by the policy: engines give those at 1."""
    chosen = [request.greedy and request.temperature != 1.0 for request in rollouts.requests]
    rows = torch.tensor(chosen, dtype=torch.bool, device=rollouts.index.device)[rollouts.index].nonzero()[:, 0]
    if not len(rows):
        return rollouts
    ids, lengths = rollouts.completion_ids[rows], rollouts.lengths[rows]
    scored = policy.score(
        rollouts.prompt_ids[rows],
        ids,
        prompt_mask=rollouts.prompt_mask[rows],
        mask=length_mask(lengths, ids.shape[1]),
        temperature=rollouts.temperature[rows],
    )
    given = lengths - rollouts.generated[rows]  # a prefix keeps what it came with
    new = length_mask(lengths, ids.shape[1]) & ~length_mask(given, ids.shape[1])
    logp = rollouts.logp.clone()
    logp[rows] = torch.where(new, scored.to(logp.dtype), logp[rows])
    return rollouts.replace(logp=logp)


@torch.no_grad()
def fingerprint(policy: Policy) -> tuple[float, ...]:
    """Sum and norm of every tensor that trains, in float64: they move when weights do.

    torch's own counters of writes do not see a fused optimizer.
    """
    weights = [parameter.detach() for parameter in policy.weights().values()]
    sums = [x.sum(dtype=torch.float64) for x in weights]
    norms = [torch.linalg.vector_norm(x, dtype=torch.float64) for x in weights]
    return tuple(torch.stack([*sums, *norms]).tolist())


def _job(asked: Asked, row: int, key: int) -> Job:
    request = asked.requests[int(asked.index[row])]
    number = int(asked.rollout[row])
    return Job(
        context=(*request.prompt_ids, *request.prefix),
        limit=int(asked.limit[row]),
        temperature=request.temperature,
        greedy=request.greedy,
        seed=key64(f"{key}/{request.key}/{number}") & SEEDS,
    )


def _put(written: Written, row: int, answer: Answer, stop_ids: Sequence[int]) -> None:
    """One answer into its row. HarnessError for log-probabilities that do not belong to its tokens."""
    length = len(answer.ids)
    if not 0 < length <= written.ids.shape[1] or len(answer.logp) != length:
        raise HarnessError(
            f"the engine gave {length} tokens and {len(answer.logp)} log-probabilities where 1 to "
            f"{written.ids.shape[1]} were asked for"
        )
    written.ids[row, :length] = torch.tensor(answer.ids, device=written.ids.device)
    written.logp[row, :length] = torch.tensor(answer.logp, dtype=written.logp.dtype, device=written.logp.device)
    written.lengths[row] = length
    written.stopped[row] = answer.ids[-1] in stop_ids
