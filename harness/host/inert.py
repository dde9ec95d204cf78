"""Parts of a stack that change nothing: at all, or as long as the policy that trains is the one that sampled."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import torch
from torch import Tensor

from harness.batch import Batch
from harness.host.bench import Bench, alike, make_batch
from harness.host.hidden import EXEMPT
from harness.host.info import needs_of
from harness.host.regime import ALL_REGIMES, Regime
from harness.host.remark import MEASURED, Remark
from harness.host.stack import Seat

__all__ = ["inert_parts"]

_SEEDS = (0, 1, 2)
_UPDATES = "a batch gives several updates (learner.minibatches, learner.updates_per_batch)"
_LAG = "older weights sample (sampler.lag)"
_NEEDED = {"reference": ("logp_ref",), "entropy": ("entropy",), "greedy": ("greedy_reward",)}


def inert_parts(bench: Bench, regime: Regime) -> list[Remark]:
    """Wrappers that return what they got, terms that are 0, ratios that are 1, and passes that nothing reads."""
    found = [
        remark
        for hook in MEASURED
        for seat in bench.chain(hook)
        if (remark := _idle(bench, hook, seat, regime)) is not None
    ]
    return found + _ratios(bench, regime) + _in_vain(bench)


def _idle(bench: Bench, hook: str, seat: Seat, regime: Regime) -> Remark | None:
    """What is said of an implementation whose presence changes nothing in the regime."""
    wraps = seat.info.hooks[hook] == "wrapper"
    if not (wraps or hook in {"keep", "train_on", "regularize"}):
        return None  # a plain implementation replaces the default: to agree with it is no fault
    idle = [one for one in ALL_REGIMES if _changes_nothing(bench, hook, seat, one)]
    if regime not in idle:
        return None
    if len(idle) < len(ALL_REGIMES):
        text = f"{seat.label!r} changes nothing with {regime}; it acts where {_acts(idle)}"
    elif wraps:
        text = f"{seat.label!r} changes nothing of what it gets, on every batch that was tried"
    elif hook == "regularize":
        causes = ", ".join(f"{name}=0" for name in _causes(seat))
        text = f"{seat.label!r} adds 0{f' ({causes})' if causes else ', on every batch that was tried'}"
    else:
        return None  # it keeps all of these rows, as a filter may
    return Remark("inert", hook, (seat.label,), text)


def _acts(idle: Iterable[Regime]) -> str:
    """Where an implementation acts that is idle in some regimes."""
    quiet = set(idle)
    ways = [text for one, text in ((Regime(updates=True), _UPDATES), (Regime(lag=True), _LAG)) if one not in quiet]
    return " or ".join(ways) or f"{_UPDATES} and {_LAG}"


def _changes_nothing(bench: Bench, hook: str, seat: Seat, regime: Regime) -> bool:
    """Whether the chain up to an implementation gives the same without it."""
    chain = bench.chain(hook)
    below = chain[: chain.index(seat)]
    if seat.info.hooks[hook] == "plain":
        below = []
    batches = [make_batch(seed, regime) for seed in _SEEDS]
    return all(
        alike(bench.run(hook, below, batch, regime), bench.run(hook, [*below, seat], batch, regime))
        for batch in batches
    )


def _causes(seat: Seat) -> list[str]:
    """The parameters that are 0 and whose other values would make a term of `regularize` act."""
    names = []
    for field in dataclasses.fields(seat.plugin):
        value = getattr(seat.plugin, field.name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value == 0:
            try:
                other = dataclasses.replace(seat.plugin, **{field.name: type(value)(1)})
            except Exception:  # noqa: BLE001, S112 - a value that the plugin refuses
                continue
            lone = Bench([dataclasses.replace(seat, plugin=other)])
            idle = _changes_nothing(lone, "regularize", lone.seats[0], Regime(updates=True, lag=True))
            if not idle and not lone.failures:
                names.append(field.name)
    return names


def _ratios(bench: Bench, regime: Regime) -> list[Remark]:
    """A loss that is the plain policy gradient where every ratio is 1, and another one elsewhere."""
    chain = bench.chain("policy_loss")
    plain = [seat for seat in chain if seat.info.hooks["policy_loss"] == "plain"]
    if not chain or regime.updates or any(seat.info.hooks.get("loss") == "plain" for seat in bench.seats):
        return []
    at_one, moved = (_pull(bench, plain, one) for one in (Regime(), Regime(updates=True)))
    if at_one is None or moved is None or not _even(at_one) or torch.allclose(at_one[0], moved[0]):
        return []
    label = plain[-1].label if plain else "defaults"
    text = f"{label!r}: with one update a batch every ratio is 1, so that clipping and importance weights do nothing"
    return [Remark("inert", "policy_loss", (label,), f"{text}; they act where {_UPDATES}")]


def _pull(bench: Bench, seats: list[Seat], regime: Regime) -> tuple[Tensor, Batch] | None:
    """([N, T] gradient of the token losses over minus the advantage, the batch)."""
    batch = make_batch(0, regime)
    signs = torch.ones(len(batch), 1, dtype=torch.float64)
    signs[::2] = -0.5
    found = bench.run("policy_loss", seats, batch.replace(advantages=signs), regime)
    return None if found is None else (found[1] / -signs, batch)


def _even(pull: tuple[Tensor, Batch]) -> bool:
    """Whether the pull on a token depends on nothing but the length of its completion, and is not 0."""
    gradient, batch = pull
    for length in batch.lengths.unique():
        tokens = gradient[batch.lengths == length][:, : int(length)]
        if not torch.allclose(tokens, tokens[0, 0].expand_as(tokens), rtol=1e-6) or tokens[0, 0] <= 0:
            return False
    return True


def _in_vain(bench: Bench) -> list[Remark]:
    """Needs that the stack is charged for and whose tensors change nothing of what the plugin does."""
    found = []
    for seat in bench.seats:
        hooks = [hook for hook in seat.info.hooks if hook not in EXEMPT]
        if not hooks or not set(hooks) <= set(MEASURED) or set(seat.info.hooks) & {"start", "build", "annotate"}:
            continue  # what cannot be measured may use it
        for need in sorted(needs_of(seat.plugin) & set(_NEEDED)):
            if all(_unread(bench, hook, seat, _NEEDED[need]) for hook in hooks):
                text = f"{seat.label!r} asks for {need!r}, which is charged, and with these parameters nothing reads it"
                found.append(Remark("in vain", "", (seat.label,), text))
    return found


def _unread(bench: Bench, hook: str, seat: Seat, fields: tuple[str, ...]) -> bool:
    """Whether other values of some fields of the batch leave a hook's result as it is."""
    regime = Regime(updates=True, lag=True)
    batch = make_batch(0, regime)
    other = batch.replace(**{name: getattr(batch, name).flip(0) * 0.7 for name in fields})
    results = [bench.run(hook, [seat], one, regime) for one in (batch, other)]
    return results[0] is not None and alike(*results)
