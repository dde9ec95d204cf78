"""Computing a reference vector with a stack, and comparing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness import probe
from harness.conformance.vectors import Case, Run, Values
from harness.errors import HarnessError, UsageError

__all__ = ["Difference", "Result", "run_case"]

MASKED = frozenset({"advantages", "token_loss", "token_rewards", "weight", "weights", "keep", "logp_prox"})
DEFAULT_PROBE = {
    "advantage": "advantages",
    "policy_loss": "objective",
    "aggregate": "aggregate",
    "kl": "kl",
    "rewards": "rewards",
}
KEYS = {
    "advantages": ("advantages",),
    "shaped_advantages": ("advantages",),
    "objective": ("loss", "grad_logp", "token_loss"),
    "aggregate": ("loss", "grad_token_loss"),
    "kl": ("token_loss", "grad_logp"),
    "train_on": ("keep",),
}


@dataclasses.dataclass(frozen=True)
class Difference:
    """The largest difference of one value, and the first entry beyond the tolerance."""

    key: str
    largest: float
    where: tuple[int, ...]
    got: float
    expected: float

    def __str__(self) -> str:
        place = list(self.where) if self.where else ""
        return f"{self.key}{place}: {self.got:.10g} instead of {self.expected:.10g}, max difference {self.largest:.3g}"


@dataclasses.dataclass(frozen=True)
class Result:
    """What came of a case: differences beyond the tolerance, or an error in a line."""

    differences: tuple[Difference, ...] = ()
    error: str | None = None

    @property
    def passed(self) -> bool:
        return not self.differences and self.error is None

    def __str__(self) -> str:
        return self.error or "; ".join(map(str, self.differences)) or "as expected"


def run_case(run: Run, case: Case) -> Result:
    """Compute a case and compare it."""
    expected = {**case.expected, **(run.expect or {})}
    how = run.probe or DEFAULT_PROBE.get(case.kind, case.kind)
    known = KEYS.get(how, tuple(expected)) if isinstance(how, str) else tuple(expected)
    keys = run.compare or tuple(key for key in known if key in expected)
    if not keys:
        return Result(error=f"nothing to compare: {case.id} expects {', '.join(expected)}")
    try:
        got = _computed(how, run, case, keys)
    except (HarnessError, ValueError, TypeError, RuntimeError, KeyError, IndexError, AttributeError) as error:
        return Result(error=f"{type(error).__name__}: {error}")
    absent = [key for key in keys if key not in got or key not in expected]
    if absent:
        return Result(error=f"{', '.join(absent)}: not among what was computed ({', '.join(got)})")
    found = [_difference(key, got[key], expected[key], case) for key in keys]
    return Result(tuple(difference for difference in found if difference is not None))


def _computed(how: str | Callable[[Run, Case], Values], run: Run, case: Case, keys: Sequence[str]) -> Values:
    """The named values of a case."""
    if not isinstance(how, str):
        return how(run, case)
    fields = {name: value for name, value in {**case.inputs, **run.fields}.items() if value is not None}
    if how in {"advantages", "shaped_advantages"}:
        pair = fields.pop("rewards", None), fields.pop("group", None)
        return {"advantages": probe.advantages(run.stack, *pair, shaped=how == "shaped_advantages", **fields)}
    if how == "objective":
        return _objective(run.stack, fields, keys)
    if how == "token_loss":
        token_loss, gradient = probe.token_loss(run.stack, **{"logp_old": None, **fields})
        return {"token_loss": token_loss, "grad_logp": gradient}
    if how == "aggregate":
        token_loss = np.asarray(fields.pop("token_loss"), dtype=np.float64)
        weights = probe.weights(run.stack, **fields)
        return {
            "loss": np.where(weights != 0, weights * token_loss, 0).sum(),
            "grad_token_loss": weights,
            "weights": weights,
        }
    if how == "kl":
        token_loss, gradient = probe.token_penalty(run.stack, **fields)
        return {"token_loss": token_loss, "grad_logp": gradient}
    if how == "rewards":
        return _rewards(run.stack, fields)
    if how == "train_on":
        return {"keep": probe.train_on(run.stack, **fields)}
    raise UsageError(f"{case.id}: no probe {how!r}; choose from {', '.join(sorted({*KEYS, 'rewards', 'token_loss'}))}")


def _rewards(stack: str, fields: dict[str, Any]) -> Values:
    pair = fields.pop("rewards", None), fields.pop("group", None)
    total, per_token = probe.total_reward(stack, *pair, **fields)
    return {"reward": total, "rewards": total, "token_rewards": per_token, **probe.rewards(stack, *pair, **fields)}


def _objective(stack: str, fields: dict[str, Any], keys: Sequence[str]) -> Values:
    loss, gradient = probe.objective(stack, **fields)
    values: dict[str, Any] = {"loss": loss, "grad_logp": gradient}
    if "token_loss" in keys:
        values["token_loss"] = probe.token_loss(stack, **{"logp_old": None, **fields})[0]
    return values


def _difference(key: str, got: Any, expected: Any, case: Case) -> Difference | None:
    """None within the tolerance. Values at masked tokens do not count, gradients there do."""
    wanted = np.asarray(expected, dtype=np.float64)
    values = np.asarray(got, dtype=np.float64)
    if values.ndim == 1 and wanted.ndim == 2:
        values = values[:, None]
    if values.ndim == 2 and wanted.ndim == 1:
        wanted = wanted[:, None]
    try:
        values, wanted = np.broadcast_arrays(values, wanted)
    except ValueError:
        return Difference(f"{key} of shape {list(values.shape)} for {list(wanted.shape)}", np.inf, (), np.nan, np.nan)
    rtol, atol = case.tolerance.get("rtol", 1e-9), case.tolerance.get("atol", 1e-10)
    wrong = ~np.isclose(values, wanted, rtol=rtol, atol=atol)
    mask = np.asarray(case.inputs.get("mask", ()), dtype=np.float64)
    if key in MASKED and mask.shape == wrong.shape:
        wrong = wrong & (mask > 0)
    if not wrong.any():
        return None
    first = tuple(int(axis[0]) for axis in np.nonzero(wrong)) if wrong.ndim else ()
    largest = float(np.abs(np.where(wrong, values - wanted, 0)).max())
    return Difference(key, largest, first, float(values[first]), float(wanted[first]))
