"""Files that ship with the harness: in a wheel under `harness/_data`, in a working copy beside the package."""

from __future__ import annotations

from pathlib import Path

from harness.errors import UsageError, nearest

__all__ = ["bundled_suites", "data_path", "suite_path"]

_PACKAGE = Path(__file__).resolve().parent
_WORKING_COPY = {"suites": "suites", "template": "plugins/template", "rules.md": "docs/rules.md"}


def data_path(name: str) -> Path:
    """The file or folder `name` ("suites", "template", "rules.md"); UsageError where the installation lacks it."""
    installed = _PACKAGE / "_data" / name
    if installed.exists():
        return installed
    beside = _PACKAGE.parent / _WORKING_COPY.get(name, name)
    if beside.exists():
        return beside
    raise UsageError(f"{name} is missing from this installation of policy-harness; install it again")


def bundled_suites() -> dict[str, Path]:
    """Name -> file of the suites that ship with the harness."""
    return {file.stem: file for file in sorted(data_path("suites").glob("*.yaml"))}


def suite_path(name: str | Path, relative_to: Path | None = None) -> Path:
    """The file of a suite given by path or by the name of a bundled one. Raises UsageError with the nearest name."""
    text = str(name)
    looks_like_path = text.endswith((".yaml", ".yml")) or "/" in text or "\\" in text
    if looks_like_path:
        file = Path(text).expanduser()
        file = relative_to / file if relative_to is not None and not file.is_absolute() else file
        if not file.is_file():
            siblings = [str(other) for other in file.parent.glob("*.y*ml")] if file.parent.is_dir() else []
            raise UsageError(f"no suite file {file}.{nearest(str(file), siblings) if siblings else ''}")
        return file
    known = bundled_suites()
    if text not in known:
        raise UsageError(f"no suite named {text!r}.{nearest(text, known)} A file of your own is given by its path.")
    return known[text]
