"""Starting a third-party project: a copy of a template with the names changed."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from pathlib import Path

from harness.errors import UsageError, nearest
from harness.resources import data_path

__all__ = ["KINDS", "new_project"]

KINDS = ("method", "wrapper", "reward", "task")
_SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def new_project(name: str, kind: str = "method", parent: Path | None = None) -> list[Path]:
    """Write the project `name` (a slug) into the folder `parent`/`name`; gives the files written.

    Raises UsageError for a name that is no slug, no Python module name or taken, for an unknown kind, and for a folder
    that is there already.
    """
    if kind not in KINDS:
        raise UsageError(f"no template {kind!r}.{nearest(kind, KINDS)}")
    _check_name(name, kind)
    target = (parent or Path()) / name
    if target.exists():
        raise UsageError(f"{target} exists already; choose another name, or --dir for another folder")
    source = data_path("template") / kind
    written = []
    for file in sorted(path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        place = target / _renamed(str(file.relative_to(source)), kind, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_renamed(file.read_text(encoding="utf-8"), kind, name), encoding="utf-8")
        written.append(place)
    return written


def _renamed(text: str, kind: str, name: str) -> str:
    """The text with the template's name in its four spellings replaced by the project's."""
    words = name.split("-")
    spellings = {
        f"my-{kind}": name,
        f"my_{kind}": "_".join(words),
        f"My{kind.capitalize()}": "".join(word.capitalize() for word in words),
        f"My {kind}": " ".join(words).capitalize(),
    }
    return re.sub("|".join(map(re.escape, spellings)), lambda found: spellings[found[0]], text)


def _check_name(name: str, kind: str) -> None:
    module = name.replace("-", "_")
    if not _SLUG.fullmatch(name) or keyword.iskeyword(module):
        raise UsageError(f"{name!r} is no name for a {kind}; use lower-case words joined by hyphens, as in my-{kind}")
    if kind == "task":
        from harness.tasks.load import task_names

        taken = name in task_names()
    else:
        from harness.host import discover

        taken = name in {entry.slug for entry in discover().values()}
    if taken:
        raise UsageError(f"a {'task' if kind == 'task' else 'method'} named {name!r} is installed; choose another name")
    if module == "tests" or module in sys.stdlib_module_names or _installed(module):
        raise UsageError(f"a module named {module!r} would hide another; choose another name")


def _installed(module: str) -> bool:
    """Whether the name imports something already; a mere folder does not count."""
    found = importlib.util.find_spec(module)
    return found is not None and found.origin is not None
