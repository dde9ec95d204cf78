"""The settings of a data set task, read from YAML and checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.errors import UsageError, nearest
from harness.tasks.base import Split

__all__ = ["Mapped", "checked", "read"]


class Mapped(BaseModel):
    """The settings of a data set task."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    path: str | None = None
    subset: str | None = None
    revision: str | None = None
    files: dict[str, str] = Field(default_factory=dict)
    splits: dict[Split, str] = Field(default_factory=dict)
    question: str = "question"
    answer: str = "answer"
    answer_pattern: str | None = None
    prompt: str = "{question}"
    verify: Literal["number", "math", "exact", "code"] = "number"
    tests: str | None = None  # code: the field with asserts, a text or a list of them
    entry: str | None = None  # code: the field with the name of the function, where the tests call it `candidate`
    prefix: str | None = None  # code: the field with the beginning that completions continue
    max_tokens: int = Field(256, ge=1)
    reward_weights: dict[str, float] = Field(default_factory=dict)
    verify_seconds: float = Field(3.0, gt=0)

    @model_validator(mode="after")
    def _one_source(self) -> Mapped:
        if bool(self.path) == bool(self.files):
            msg = "give either path (a Hugging Face data set) or files (JSON Lines, JSON, CSV or Parquet)"
            raise ValueError(msg)
        if (self.verify == "code") != (self.tests is not None):
            msg = "tests names the field with asserts, and goes with verify: code"
            raise ValueError(msg)
        return self


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
    """The settings, if they are right; UsageError with `where` and the fault in one line otherwise."""
    try:
        return Mapped.model_validate(data)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        if fault["type"] == "extra_forbidden":
            raise UsageError(f"{where}: unknown setting {place!r}.{nearest(place, Mapped.model_fields)}") from None
        raise UsageError(f"{where}: {place or 'settings'}: {fault['msg'].removeprefix('Value error, ')}") from None
