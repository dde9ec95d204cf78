"""Batches at the edge: every result is finite, and what the mask leaves out neither matters nor moves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.conformance.garbage import require_no_influence
from harness.conformance.probe_batch import rewarded, unit, with_holes, with_lengths
from harness.conformance.results import Warned
from harness.conformance.task import tiny_trial
from harness.errors import CheckFailed, told
from harness.training.loop import step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from harness.batch import Batch
    from harness.conformance.bench import Bench
    from harness.conformance.outcome import Outcome

TOLERANCE = 1e-9
NAN = float("nan")


def check(bench: Bench) -> str:
    """Each edge in turn, in float64 and in float32; the first fault names its edge."""
    quiet, unequal = [], {}
    for name, change in EDGES.items():
        try:
            outcome = bench.rehearsal.outcome(change)
            _require_finite(outcome)
            _require_masked(outcome)
        except Exception as fault:
            raise CheckFailed(f"{name}: {told(fault)}") from fault
        if not outcome.acts:
            quiet.append(name)
        if name in OUGHT:
            unequal[name] = outcome
    require_no_influence(bench)
    _check_hopeless(bench)
    said = "finite, mask respected" + (f"; no gradient for {', '.join(quiet)}" if quiet else "")
    _warn_of_advantages(bench, unequal, said)
    return said


def _warn_of_advantages(bench: Bench, outcomes: Mapping[str, Outcome], said: str) -> None:
    """A group that compares nothing should give 0; a method that means otherwise says so among its edge cases."""
    info = bench.subject.seat.info
    if info.claims.identity or not info.hooks.keys() & COMPARING:
        return
    told_of = " ".join(info.doc.partition("dge case")[2].split())
    found: dict[str, str] = {}
    for name, outcome in outcomes.items():
        kind, words = OUGHT[name]
        advantages = outcome.rows.get("advantages")
        if advantages is None or (kind == _EQUALS[0] and _spread(outcome.rows["reward"]) > TOLERANCE):
            continue  # what shapes rewards has made them unequal
        unequal = bool((advantages.abs() > TOLERANCE).any())
        if unequal and not re.search(words, told_of, re.IGNORECASE):
            found.setdefault(kind, name)
    if found:
        kinds = " and ".join(found)
        raise Warned(
            f"{said}; but advantages are not 0 in {kinds} ({', '.join(found.values())}): return 0 there, or let "
            "'Edge cases:' in the docstring say what they are and why"
        )


def _spread(values: Tensor) -> float:
    return float(values.max() - values.min()) if values.numel() else 0.0


def _require_finite(outcome: Outcome) -> None:
    for name, values in outcome.rows.items():
        if not bool(values.isfinite().all()):
            raise CheckFailed(f"{name} is not finite")


def _require_masked(outcome: Outcome) -> None:
    """No gradient reaches a token that the mask leaves out."""
    if not outcome.rows:
        return
    out = outcome.rows["mask"] == 0
    gradient = outcome.rows["gradient:logp"]
    if bool((gradient[out] != 0).any()):
        raise CheckFailed("a token that the mask leaves out has a gradient")


def _check_hopeless(bench: Bench) -> None:
    """A real step in which every completion gets the same reward."""
    subject = bench.subject
    trial = tiny_trial(subject.stack, subject.catalogue, seed=bench.seed, hopeless=True)
    try:
        step(trial.context, trial.lag, 0)
    except Exception as fault:
        raise CheckFailed(f"a step in which every completion is wrong: {told(fault)}") from fault


# -- the edges -------------------------------------------------------------------------------------------------------


def _equal(value: float) -> Callable[[Batch], Batch]:
    def change(batch: Batch) -> Batch:
        values = torch.full_like(batch.rewards[:, 0], value)
        return rewarded(batch, values, values)

    return change


def _one_each(batch: Batch) -> Batch:
    return batch[batch.groups.first]


def _unequal(batch: Batch) -> Batch:
    """Groups of 1, 2, 3, ... completions."""
    place = batch.groups.rank(-batch.rollout.to(torch.float64) - batch.round * 100)
    return batch[place <= batch.prompt]


def _empty(batch: Batch) -> Batch:
    """The first completion of the batch is empty, and so is a whole group."""
    none = (torch.arange(len(batch)) == 0) | (batch.prompt == batch.prompt[-1])
    return with_lengths(batch, torch.where(none, torch.zeros_like(batch.lengths), batch.lengths))


def _all_empty(batch: Batch) -> Batch:
    return with_lengths(batch, torch.zeros_like(batch.lengths))


def _truncated(batch: Batch) -> Batch:
    return batch.replace(truncated=torch.ones_like(batch.truncated))


def _missing(batch: Batch) -> Batch:
    """A reward that does not apply to some rows."""
    quality = unit(batch, 1)
    quality[::3] = NAN
    return rewarded(batch, batch.correct.to(torch.float64), quality)


def _none(batch: Batch) -> Batch:
    """Rows to which no reward applies, and a group of such rows."""
    blank = (torch.arange(len(batch)) % 4 == 1) | (batch.prompt == batch.prompt[0])
    gone = torch.full_like(batch.rewards[:, 0], NAN)
    rewards = torch.where(blank[:, None], gone[:, None], batch.rewards)
    return batch.replace(rewards=rewards, correct=batch.correct & ~blank)


def _one_row(batch: Batch) -> Batch:
    return batch[:1]


COMPARING = {"estimate_advantages", "shape_rewards", "group_by"}  # hooks whose authors decide what a group is worth
_EQUALS = (
    "a group of equals",
    r"equal|\bt(ie|ies|ied)\b|same|alike|all[- ](right|wrong|correct)|unanimous|groups do not matter|no spread",
)
_ONE = "a group of one", r"of (size )?one\b|single|alone|\blone\b|only one|one completion|groups do not matter"
# edge -> what it is called, and words by which a docstring speaks of it
OUGHT = {"all rewards 0": _EQUALS, "all rewards 1": _EQUALS, "all rewards 0.3": _EQUALS, "groups of one": _ONE}
EDGES: dict[str, Callable[[Batch], Batch]] = {
    "all rewards 0": _equal(0.0),
    "all rewards 1": _equal(1.0),
    "all rewards 0.3": _equal(0.3),
    "groups of one": _one_each,
    "unequal groups": _unequal,
    "an empty completion and an empty group": _empty,
    "empty completions only": _all_empty,
    "all truncated": _truncated,
    "a missing reward": _missing,
    "no reward at all in some rows": _none,
    "a mask with holes": with_holes,
    "a single completion": _one_row,
}
