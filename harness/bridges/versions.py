"""Which versions of the other trainers the bridges are tested with, and a plain message for any other."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from harness.errors import UsageError

__all__ = ["TESTED", "require"]

TESTED = {"trl": "1.16", "verl": "0.9"}  # the series; bridges reach into inner methods, so that another may differ


def require(package: str) -> str:
    """The version installed. Raises UsageError where it is missing or of another series."""
    series = TESTED[package]
    try:
        found = version(package)
    except PackageNotFoundError:
        raise UsageError(
            f"harness.bridges.{package} needs {package} {series}: pip install '{package}=={series}.*'"
        ) from None
    if found.split(".")[:2] != series.split("."):
        raise UsageError(
            f"harness.bridges.{package} is tested with {package} {series} and found {found}: "
            f"pip install '{package}=={series}.*'"
        )
    return found
