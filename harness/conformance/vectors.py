"""Reference vectors: calls of public implementations with what they gave, and how a stack of ours computes the same.

A case is one JSON object a line: method, kind (advantage, policy_loss, aggregate, kl, rewards), source, params, inputs
and expected values; `tests/vectors/README.md` describes the format. A `Run` says how a stack of ours computes it.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.host import PluginSpec, parse_stack

__all__ = ["Case", "Run", "Values", "default_run", "read_cases"]

Values = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Case:
    """One call of a public implementation: what went in and what came out."""

    id: str
    method: str
    kind: str
    source: Mapping[str, str]
    dtype: str
    tolerance: Mapping[str, float]
    params: dict[str, Any]
    inputs: dict[str, Any]
    expected: dict[str, Any]
    notes: str = ""

    @property
    def repo(self) -> str:
        """`owner/name` of the implementation."""
        return self.source.get("repo", "")

    @property
    def function(self) -> str:
        """The function that was run."""
        return self.source.get("function", "")

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Case:
        """The case of a decoded line. Raises UsageError if a field is missing."""
        missing = [name for name in ("method", "kind", "expected") if name not in record]
        if missing:
            raise UsageError(f"reference vector {record.get('id', '?')}: no field {', '.join(missing)}")
        source = record.get("source", {})
        return cls(
            id=str(record.get("id", "?")),
            method=record["method"],
            kind=record["kind"],
            source=source if isinstance(source, Mapping) else {"function": str(source)},
            dtype=record.get("dtype", "float64"),
            tolerance=record.get("tolerance") or {"rtol": 1e-9, "atol": 1e-10},
            params=record.get("params") or {},
            inputs=record.get("inputs") or {},
            expected=record["expected"],
            notes=record.get("notes") or "",
        )


@dataclasses.dataclass(frozen=True)
class Run:
    """How a case is computed here.

    stack: a stack with its parameters. fields: batch fields for the probe that are added to the case's inputs or
    replace them; None takes one away. probe: advantages, shaped_advantages (after shape_rewards), objective,
    token_loss, aggregate, kl, rewards (columns by name, and `rewards`, `reward` and `token_rewards` for their sums),
    train_on, or a function of (run, case) that returns named values; by default what fits the kind. expect: expected
    values in place of the case's, after a documented change of sign or scale. compare: the keys of `expected` that
    count (`("grad_logp",)` where a loss has no value of its own).
    """

    stack: str
    fields: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    _: dataclasses.KW_ONLY
    probe: str | Callable[[Run, Any], Values] | None = None
    expect: Mapping[str, Any] | None = None
    compare: tuple[str, ...] | None = None


def read_cases(path: str | Path) -> list[Case]:
    """The cases of a JSON Lines file, plain or gzipped. Raises UsageError for a file that is not one."""
    file = Path(path)
    try:
        data = file.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read reference vectors from {file}: {error}") from None
    cases = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            cases.append(Case.of(json.loads(line)))
        except (json.JSONDecodeError, AttributeError) as error:
            raise UsageError(f"{file}, line {number}: not a reference vector ({error})") from None
    return cases


def default_run(case: Case, method: str, fields: Sequence[str]) -> Run:
    """The run where names agree: params are the plugin's fields, inputs the batch's.

    Raises UsageError for a param that is no field, and for params on a stack of several plugins.
    """
    unknown = sorted(set(case.params) - set(fields))
    if unknown:
        raise UsageError(f"{method} has no parameter {', '.join(unknown)}, which the case sets")
    specs = parse_stack(method)
    if len(specs) > 1 and case.params:
        raise UsageError(f"params of reference vectors go to one plugin, {method!r} has {len(specs)}")
    head = specs[0]
    text = method if len(specs) > 1 else str(PluginSpec(head.name, {**head.params, **case.params}, head.distribution))
    return Run(text)
