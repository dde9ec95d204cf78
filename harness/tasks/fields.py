"""Columns of a row by the names that a mapping gives them: plain, dotted into nested ones, or a template of several."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from harness.errors import UsageError, nearest
from harness.tasks.rows import Row

__all__ = ["Fields", "normalized", "text_of"]


class Fields:
    """The rows of one task, read by mapping keys such as `question`."""

    def __init__(self, task: str) -> None:
        self.task = task

    def value(self, row: Row, key: str, name: str) -> Any:
        """What a row has under `name`, which the mapping gives for `key`: `answer`, `reward_model.ground_truth`,
        or a template, `{context} {question}`. Raises UsageError with the columns that there are.
        """
        if name in row:
            return row[name]
        if "{" in name:
            return self.filled(row, key, name)
        found: Any = row
        for part in name.split("."):
            if not isinstance(found, Mapping) or part not in found:
                raise self._missing(row, key, name)
            found = found[part]
        return found

    def text(self, row: Row, key: str, name: str) -> str:
        """`value` as one text."""
        return text_of(self.value(row, key, name))

    def filled(self, row: Row, key: str, template: str) -> str:
        """A template with the row's columns filled in."""
        try:
            return template.format_map(row)
        except KeyError as error:
            raise self._missing(row, key, str(error.args[0])) from None
        except (IndexError, ValueError, AttributeError, TypeError) as error:
            raise UsageError(
                f"task {self.task!r}: cannot fill in {key}: {template!r} ({error}); {_columns(row)}"
            ) from None

    def _missing(self, row: Row, key: str, name: str) -> UsageError:
        return UsageError(
            f"task {self.task!r}: {key} names column {name!r}, which the data, or some rows, do not have; "
            f"{_columns(row)}; set {key} to one of them.{nearest(name, map(str, row))}"
        )


def text_of(value: Any) -> str:
    """A value as text; of a list of chat messages their contents."""
    if isinstance(value, list | tuple) and value and all(isinstance(m, Mapping) and "content" in m for m in value):
        return "\n\n".join(str(message["content"]) for message in value)
    return "" if value is None else str(value)


def normalized(text: str) -> str:
    """A text without what makes no other problem of it: case, spacing, and how Unicode spells a character."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _columns(row: Row) -> str:
    return f"columns: {', '.join(map(str, row)) or 'none'}"
