"""What every method's `estimate_advantages` and `aggregate` cost, as ratios to a plain z-score within groups.

65,536 completions of up to 8 tokens in groups of 8, three reward columns, float32, one thread. The yardstick,
`batch.groups.standardize(batch.reward)`, is measured beside every call, on a batch as fresh: whoever needs the groups
or the total reward computes them once. Medians of CPU time; a method's own bases are part of it where it wraps them.

    python benchmarks/estimators.py [--methods grpo,gdpo] [--repeats 7] [--limit 3]

Exits with 1 if a method above the limit, by more than noise, is not among the exceptions, which say why it may be.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import resource

import torch
from estimator_exceptions import SLOWER

from harness.batch import Batch
from harness.host import HookCaller, build_stack, discover
from harness.probe_inputs import plain_batch

GROUP, TOKENS, COLUMNS = 8, 8, 3
NOISE = 1.1  # medians of one run differ by so much from those of another
HOOKS = ("estimate_advantages", "aggregate")
MEMORY = 16 << 30  # bytes; all pairs of completions would take more


@dataclasses.dataclass(frozen=True)
class Row:
    """One hook of one method: milliseconds of CPU time of the call and of the yardstick beside it."""

    method: str
    hook: str
    took: float
    yardstick: float

    @property
    def ratio(self) -> float:
        return self.took / self.yardstick


def make_batch(rows: int) -> Batch:
    """Completions with everything in it that needs no forward pass of a critic or a head."""
    noise = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, TOKENS + 1, (rows,), generator=noise)
    mask = (torch.arange(TOKENS) < lengths[:, None]).double()
    correct = torch.randint(0, 2, (rows, 1), generator=noise)
    logp = -torch.rand(rows, TOKENS, generator=noise) * mask
    batch = plain_batch({
        "rewards": torch.cat([correct, torch.rand(rows, COLUMNS - 1, generator=noise)], 1),
        "group": torch.arange(rows) // GROUP,
        "reward_names": ("correct", "quality", "style"),
        "completion_ids": torch.randint(3, 50, (rows, TOKENS), generator=noise),
        "mask": mask, "logp_sampler": logp, "logp_old": logp + 0.1 * mask, "logp_ref": logp - 0.1 * mask,
        "entropy": torch.rand(rows, TOKENS, generator=noise) * mask,
        "answers": torch.randint(0, 3, (rows,), generator=noise),
        "greedy_reward": torch.rand(rows // GROUP, generator=noise).repeat_interleave(GROUP),
    })  # fmt: skip
    fields = {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}
    return batch.replace(**{
        name: x.float() for name, x in fields.items() if isinstance(x, torch.Tensor) and x.is_floating_point()
    })  # fmt: skip


def caller(method: str, catalogue: Any, batch: Batch) -> HookCaller:
    """The method's hooks, started."""
    state = SimpleNamespace(
        step=0, progress=0.0, round=0, seed=0, hook="start", group_size=GROUP, prompts_per_step=len(batch) // GROUP,
        max_tokens=TOKENS, max_rounds=1, minibatches=1, updates_per_batch=1, temperature=1.0, metrics={}, modules={},
        generator=torch.Generator().manual_seed(0), gathered=batch, pool=None, task=None, policy=None, reference=None,
    )  # fmt: skip
    hooks = build_stack(method, catalogue).caller(state)
    hooks.start(run=SimpleNamespace(**vars(state), state=state))
    return hooks


def seconds(call: Callable[[Batch], Any], batch: Batch) -> float:
    fresh = batch.replace(extras=dict(batch.extras))  # nothing derived yet
    began = time.process_time()
    call(fresh)
    return time.process_time() - began


def measure(call: Callable[[Batch], Any], batch: Batch, repeats: int) -> tuple[float, float]:
    """Milliseconds of the call and of the yardstick, turn by turn."""
    seconds(call, batch)
    pairs = [(seconds(call, batch), seconds(z_score, batch)) for _ in range(repeats)]
    own, plain = zip(*pairs, strict=True)
    return 1000 * statistics.median(own), 1000 * statistics.median(plain)


def z_score(batch: Batch) -> torch.Tensor:
    return batch.groups.standardize(batch.reward)


def rows(methods: Sequence[str], catalogue: Any, batch: Batch, repeats: int) -> Iterator[Row | tuple[str, str, str]]:
    """A row for each hook that a method implements; (method, hook, why not) where it cannot run here."""
    for method in methods:
        for hook in HOOKS:
            if hook not in catalogue[method].hooks:
                continue
            try:
                call = getattr(caller(method, catalogue, batch), hook)
                yield Row(method, hook, *measure(lambda x, call=call: call(batch=x), batch, repeats))
            except Exception as error:
                yield method, hook, str(error).splitlines()[0]


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", help="comma separated; default: all that are installed")
    parser.add_argument("--completions", type=int, default=65536)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--limit", type=float, default=3.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    catalogue = discover()
    methods = options.methods.split(",") if options.methods else sorted(catalogue)
    batch = make_batch(options.completions)
    batch = batch.replace(advantages=z_score(batch)[:, None])
    found = list(rows(methods, catalogue, batch, options.repeats))
    measured = sorted((row for row in found if isinstance(row, Row)), key=lambda row: -row.ratio)
    print(f"{'method':28} {'hook':20} {'ratio':>7} {'ms':>9}")
    for row in measured:
        known = SLOWER.get(row.method) if row.ratio > options.limit else None
        print(f"{row.method:28} {row.hook:20} {row.ratio:7.2f} {row.took:9.2f}  {known or ''}".rstrip())
    for line in (row for row in found if not isinstance(row, Row)):
        print(f"{line[0]:28} {line[1]:20} cannot run here: {line[2]}")
    above = [row for row in measured if row.ratio > options.limit]
    unknown = sorted({row.method for row in above if row.ratio > NOISE * options.limit} - set(SLOWER))
    within = len(measured) - len(above)
    print(
        f"{within} of {len(measured)} within {options.limit}x; above it without a reason: {', '.join(unknown) or '-'}"
    )
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
