"""`harness doctor [SUITE]`: what this installation and machine can do, and what is wrong with them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from harness.errors import HarnessError

__all__ = ["register"]

Finding = tuple[str, str, str]  # mark, subject, text

OK, NOTE, BAD = "ok", "note", "bad"
_PACKAGES = (
    "torch", "transformers", "tokenizers", "safetensors", "lm-eval", "datasets", "mlflow", "numpy", "pandas", "pyarrow",
    "scipy", "math-verify", "pluggy", "pydantic", "typer", "rich",
)  # fmt: skip
_LEAST_DISK = 2 * 2**30


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    suite: Annotated[str, typer.Argument(help="Also check that this suite can run here.", show_default=False)] = "",
    out: Annotated[Path, typer.Option(help="Where runs are kept.")] = Path("runs"),
) -> None:
    """Check versions, threads, sandbox, store and disk; exit with 1 if something is wrong."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    checks: list[Callable[[], Iterator[Finding]]] = [
        _versions, _modules, _threads, _accelerator, _methods, _sandbox, lambda: _store(out), lambda: _disk(out),
    ]  # fmt: skip
    if suite:
        checks.append(lambda: _suite(suite))
    bad = False
    for check in checks:
        for mark, subject, text in _guarded(check):
            bad = bad or mark == BAD
            colour = {OK: "green", NOTE: "yellow", BAD: "red"}[mark]
            console.print(Text.assemble((f"{mark:<5}", colour), (f"{subject:<10}", "bold"), text), soft_wrap=True)
    raise typer.Exit(int(bad))


def _guarded(check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """A check that breaks is a finding too."""
    try:
        yield from check()
    except Exception as error:  # noqa: BLE001 -- the doctor reports whatever is broken
        text = str(error) if isinstance(error, HarnessError) else f"{type(error).__name__}: {error}"
        yield BAD, "check", " ".join(text.split())


def _versions() -> Iterator[Finding]:
    from importlib.metadata import PackageNotFoundError, version

    import harness

    yield OK, "harness", f"{harness.__version__} in {Path(harness.__file__).parent}, Python {sys.version.split()[0]}"
    found, missing = [], []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    yield OK, "versions", ", ".join(found)
    if missing:
        yield BAD, "versions", f"not installed: {', '.join(missing)}; install policy-harness again"


def _modules() -> Iterator[Finding]:
    """Another distribution may provide a module called `harness`, and the last one installed wins."""
    from importlib.metadata import packages_distributions

    others = sorted(set(packages_distributions().get("harness", ())) - {"policy-harness"})
    if others:
        text = f"{', '.join(others)} also provides the module `harness`; uninstall it, or use another environment"
        yield BAD, "module", text
    else:
        yield OK, "module", "no other distribution provides the module `harness`"


def _threads() -> Iterator[Finding]:
    from harness.runtime import THREAD_VARIABLES, cores

    given = ", ".join(f"{name}={os.environ[name]}" for name in THREAD_VARIABLES if name in os.environ)
    yield OK, "cores", f"{cores()} usable of {os.cpu_count()}; a trial uses 1 thread unless its suite says more"
    policy = os.environ.get("OMP_WAIT_POLICY", "")
    if policy.upper() != "PASSIVE":
        yield NOTE, "threads", f"OMP_WAIT_POLICY={policy}: workers that share a core become many times slower; unset it"
    else:
        yield OK, "threads", f"OMP_WAIT_POLICY=PASSIVE{', ' + given if given else ''}"


def _accelerator() -> Iterator[Finding]:
    import torch

    if torch.cuda.is_available():
        names = ", ".join(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))
        yield OK, "device", f"CUDA: {names} (use it with --set policy.device=cuda)"
    else:
        yield OK, "device", f"CPU, {torch.backends.cpu.get_cpu_capability()}"


def _methods() -> Iterator[Finding]:
    from harness.host import discover

    catalogue = discover()
    found: dict[str, list[str]] = {"ok": [], "failed": [], "disabled": [], "clash": []}
    for name, entry in catalogue.items():
        found[catalogue.status(entry)].append(name)
    yield OK, "methods", f"{len(found['ok'])} usable"
    for name in found["failed"]:
        yield NOTE, "methods", f"{name} cannot be used: {catalogue[name].error}"
    for status in ("disabled", "clash"):
        if found[status]:
            yield NOTE, "methods", f"{status}: {', '.join(found[status])} (`harness methods` says why)"


def _sandbox() -> Iterator[Finding]:
    from harness.tasks.sandbox import probe

    report = probe()
    if report.mode == "namespaces":
        yield OK, "sandbox", f"namespaces: {report.detail}"
    elif report.mode:
        yield NOTE, "sandbox", f"{report.mode} only: {report.detail}"
    else:
        yield BAD, "sandbox", f"code tasks cannot run: {report.detail}"


def _store(out: Path) -> Iterator[Finding]:
    from harness.tracking import default_uri

    place = next(path for path in (out, *out.absolute().parents) if path.exists())
    uri = default_uri(out)
    if not os.access(place, os.W_OK):
        yield BAD, "store", f"{uri}: {place} cannot be written; choose another place with --out"
    else:
        yield OK, "store", uri + ("" if (out / "mlflow.db").exists() else " (made by the first run)")


def _disk(out: Path) -> Iterator[Finding]:
    place = next(path for path in (out, *out.absolute().parents) if path.exists())
    free = shutil.disk_usage(place).free
    text = f"{free / 2**30:.1f} GiB free at {place}"
    yield (OK, "disk", text) if free >= _LEAST_DISK else (BAD, "disk", f"{text}; checkpoints need room")


def _suite(name: str) -> Iterator[Finding]:
    from harness.runtime import cores
    from harness.suites.expand import trials
    from harness.suites.preflight import check_suite
    from harness.suites.schema import Suite

    suite = Suite.load(name)
    check_suite(suite)
    count, workers = len(trials(suite)), max(1, cores() // suite.threads)
    yield OK, "suite", f"{suite.name}: {count} trials, {workers} at a time, {suite.limits.seconds:g} s at most each"
