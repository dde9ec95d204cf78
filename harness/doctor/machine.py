"""Checks of the installation and the machine, whatever is run on it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from harness.doctor.findings import FIX, OK, WARN, Check, Finding

__all__ = ["machine_checks"]

_PACKAGES = (
    "torch", "transformers", "tokenizers", "safetensors", "lm-eval", "datasets", "mlflow", "numpy", "pandas", "pyarrow",
    "scipy", "math-verify", "pluggy", "pydantic", "typer", "rich",
)  # fmt: skip
_EXTRAS = {"peft": "lora", "ray": "ray", "gguf": "gguf", "vllm": "vllm", "reasoning-gym": "reasoning-gym"}
_LEAST_DISK = 2 * 2**30


def machine_checks(out: Path, *, code: bool = True) -> list[Check]:
    """Every one, in the order in which they are shown; `code`: that of the sandbox too, which only programs need."""
    jail = [sandbox] if code else []
    return [versions, extras, modules, threads, accelerator, methods, *jail, lambda: store(out), lambda: disk(out)]


def versions() -> Iterator[Finding]:
    from importlib.metadata import PackageNotFoundError, version

    import harness

    where = f"{harness.__version__} in {Path(harness.__file__).parent}, Python {sys.version.split()[0]}"
    yield Finding(OK, "harness", where)
    found, missing = [], []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    yield Finding(OK, "versions", ", ".join(found))
    if missing:
        yield Finding(FIX, "versions", f"not installed: {', '.join(missing)}; install policy-harness again")


def extras() -> Iterator[Finding]:
    from importlib.metadata import PackageNotFoundError, version

    found, missing = [], []
    for package, extra in _EXTRAS.items():
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(extra)
    others = f"; not installed, and needed by some settings only: {', '.join(missing)}" if missing else ""
    yield Finding(OK, "extras", (", ".join(found) or "none") + others)


def modules() -> Iterator[Finding]:
    """Another distribution may provide a module called `harness`, and the last one installed wins."""
    from importlib.metadata import packages_distributions

    others = sorted(set(packages_distributions().get("harness", ())) - {"policy-harness"})
    if others:
        text = f"{', '.join(others)} also provides the module `harness`; uninstall it, or use another environment"
        yield Finding(FIX, "module", text)
    else:
        yield Finding(OK, "module", "no other distribution provides the module `harness`")


def threads() -> Iterator[Finding]:
    from harness.runtime import THREAD_VARIABLES, cores

    given = ", ".join(f"{name}={os.environ[name]}" for name in THREAD_VARIABLES if name in os.environ)
    yield Finding(
        OK, "cores", f"{cores()} usable of {os.cpu_count()}; a trial uses 1 thread unless its suite says more"
    )
    policy = os.environ.get("OMP_WAIT_POLICY", "")
    if policy.upper() != "PASSIVE":
        slow = f"OMP_WAIT_POLICY={policy}: workers that share a core become many times slower; unset it"
        yield Finding(WARN, "threads", slow)
    else:
        yield Finding(OK, "threads", f"OMP_WAIT_POLICY=PASSIVE{', ' + given if given else ''}")


def accelerator() -> Iterator[Finding]:
    import torch

    if torch.cuda.is_available():
        names = ", ".join(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))
        yield Finding(OK, "device", f"CUDA: {names} (use it with --set policy.device=cuda)")
    else:
        yield Finding(OK, "device", f"CPU, {torch.backends.cpu.get_cpu_capability()}")


def methods() -> Iterator[Finding]:
    from harness.host import discover

    catalogue = discover()
    found: dict[str, list[str]] = {"ok": [], "failed": [], "disabled": [], "clash": []}
    for name, entry in catalogue.items():
        found[catalogue.status(entry)].append(name)
    yield Finding(OK, "methods", f"{len(found['ok'])} usable")
    for name in found["failed"]:
        yield Finding(WARN, "methods", f"{name} cannot be used: {catalogue[name].error}")
    for status in ("disabled", "clash"):
        if found[status]:
            yield Finding(WARN, "methods", f"{status}: {', '.join(found[status])} (`harness methods` says why)")


def sandbox() -> Iterator[Finding]:
    from harness.tasks.sandbox import probe

    report = probe()
    if report.mode == "namespaces":
        yield Finding(OK, "sandbox", f"namespaces: {report.detail}")
    elif report.mode:
        yield Finding(WARN, "sandbox", f"{report.mode} only: {report.detail}")
    else:
        yield Finding(FIX, "sandbox", f"code tasks cannot run: {report.detail}")


def store(out: Path) -> Iterator[Finding]:
    from harness.tracking import default_uri

    place = next(path for path in (out, *out.absolute().parents) if path.exists())
    uri = default_uri(out)
    if not os.access(place, os.W_OK):
        yield Finding(FIX, "store", f"{uri}: {place} cannot be written; choose another place with --out")
    else:
        yield Finding(OK, "store", uri + ("" if (out / "mlflow.db").exists() else " (made by the first run)"))


def disk(out: Path) -> Iterator[Finding]:
    place = next(path for path in (out, *out.absolute().parents) if path.exists())
    free = shutil.disk_usage(place).free
    text = f"{free / 2**30:.1f} GiB free at {place}"
    enough = free >= _LEAST_DISK
    yield Finding(OK, "disk", text) if enough else Finding(FIX, "disk", f"{text}; checkpoints need room")
