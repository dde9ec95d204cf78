"""The settings of a data set task, read from YAML and checked; bundled ones for the usual data sets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from harness.errors import UsageError, nearest
from harness.tasks.base import Split

__all__ = ["BUNDLED", "Mapped", "bundled", "checked", "read"]

BUNDLED = Path(__file__).parent / "datasets"
SOURCES = ("path", "subset", "revision", "package", "files", "splits")


class Mapped(BaseModel):
    """The settings of a data set task. A column may be dotted (`a.b`) or a template (`{a} {b}`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][\w.+-]*$")  # it names columns, metrics and files
    # where the rows are
    path: str | None = None
    subset: str | tuple[str, ...] | None = None
    revision: str | None = None
    package: str | None = None  # an installed package that `files` are in
    files: dict[str, str] = Field(default_factory=dict)
    splits: dict[Split, str] = Field(default_factory=dict)
    keep: dict[str, tuple[Any, ...]] = Field(default_factory=dict)  # column: the values to keep
    tags: tuple[str, ...] = ()  # columns that go into a problem's data, such as a level
    # what is asked, and how the answer is compared
    question: str = "question"
    answer: str = "answer"
    answer_pattern: str | None = None
    answer_marked: bool = False  # the known answer stands behind #### or in the last box of its column
    answer_mark: str | None = None  # where a completion says its answer, besides #### and a box; such as "Answer:"
    prompt: str = "{question}"
    verify: Literal["number", "math", "exact", "code"] = "number"
    # code
    tests: str | None = None  # the column with asserts, a text or a list of them
    setup: str | None = None  # the column with code that the tests need, a text or a list
    solution: str | None = None  # the column with a program that passes: tests that compute need it
    entry: str | None = None  # the column with the name of the function, where the tests call it `candidate`
    prefix: str | None = None  # the column with the beginning that completions continue
    shown: int = Field(0, ge=0)  # how many of the tests, the first ones, the prompt shows
    input_output: str | None = None  # the column with {"inputs", "outputs"}, and "fn_name" where functions are called
    max_tests: int = Field(20, ge=1)  # of input_output
    stop: tuple[str, ...] = ()  # texts at which a completion ends; not inside a fenced answer
    sandbox: Literal["namespaces", "limits"] = "namespaces"  # where known solutions run while the data are read
    max_tokens: int = Field(256, ge=1)
    reward_weights: dict[str, float] = Field(default_factory=dict)
    verify_seconds: float = Field(3.0, gt=0)

    @field_validator("answer_pattern")
    @classmethod
    def _pattern(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            msg = f"{pattern!r} is no regular expression ({error})"
            raise ValueError(msg) from None
        return pattern

    @model_validator(mode="after")
    def _one_source(self) -> Mapped:
        if bool(self.path) == bool(self.files):
            msg = "give either path (a Hugging Face data set) or files (JSON Lines, JSON, CSV or Parquet)"
            raise ValueError(msg)
        if (self.verify == "code") != (self.tests is not None or self.input_output is not None):
            msg = "tests names the field with asserts, input_output that with inputs and outputs; with verify: code"
            raise ValueError(msg)
        if self.tests is not None and self.input_output is not None:
            msg = "give tests or input_output, not both"
            raise ValueError(msg)
        return self


def bundled() -> tuple[str, ...]:
    """The names of the bundled mappings."""
    return tuple(sorted(file.stem for file in BUNDLED.glob("*.yaml")))


def read(file: Path) -> dict[str, Any]:
    """The settings in a YAML file."""
    from harness import yaml12

    if not file.is_file():
        raise UsageError(f"no task file {file}.{nearest(str(file), map(str, file.parent.glob('*.y*ml')))}")
    data, _ = yaml12.load(file)
    if not isinstance(data, dict):
        raise UsageError(f"{file}: a task file is a mapping of settings")
    return data


def checked(data: Mapping[str, Any], where: str) -> Mapped:
    """The settings, if they are right; UsageError with `where` and the fault in one line otherwise.

    `like` names a bundled mapping that they stand on: with `files` or `path` of their own they take its columns only.
    """
    data = _resolved(data, where)
    try:
        return Mapped.model_validate(data)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        if place == "name" and fault["type"] == "string_pattern_mismatch":
            raise UsageError(f"{where}: name: {data['name']!r} must be letters, digits and . _ + - alone") from None
        if fault["type"] == "extra_forbidden":
            known = [*Mapped.model_fields, "like"]
            raise UsageError(f"{where}: unknown setting {place!r}.{nearest(place, known)}") from None
        raise UsageError(f"{where}: {place or 'settings'}: {fault['msg'].removeprefix('Value error, ')}") from None


def _resolved(data: Mapping[str, Any], where: str) -> dict[str, Any]:
    own = dict(data)
    like = own.pop("like", None)
    if like is None:
        return own
    if like not in bundled():
        raise UsageError(f"{where}: no bundled mapping {like!r}; there are {', '.join(bundled())}")
    base = read(BUNDLED / f"{like}.yaml")
    if "files" in own or "path" in own:
        base = {name: value for name, value in base.items() if name not in SOURCES}
    return base | own
