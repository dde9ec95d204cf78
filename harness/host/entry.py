"""`Entry`: one method that somebody offers under a name, described from its source and imported on use."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.errors import PluginError, UnusablePlugin
from harness.host.reading import Card, Parameter

__all__ = ["Entry", "file_module"]


@dataclasses.dataclass(frozen=True)
class Entry:
    """One method that somebody offers under a name. `error` says why it cannot be used, as far as its source tells.

    `disabled`: its distribution is left out, see `harness.host.autoload`; `refused`: its `error` holds without trying.
    """

    slug: str
    distribution: str
    version: str
    module: str
    attr: str
    path: Path | None
    card: Card | None = None
    error: str | None = None
    from_file: bool = False
    loaded: type | None = None  # a class that is at hand already
    disabled: bool = False
    refused: bool = False

    @property
    def doc(self) -> str:
        return self.card.doc if self.card else ""

    @property
    def fields(self) -> tuple[Parameter, ...]:
        return self.card.parameters if self.card else ()

    @property
    def hooks(self) -> Mapping[str, str]:
        return self.card.hooks if self.card else {}

    @property
    def paper(self) -> str | None:
        return self.card.literal("paper") if self.card else None

    @property
    def base(self) -> str | None:
        return self.card.literal("base") if self.card else None

    @property
    def experimental(self) -> bool:
        return bool(self.card and self.card.literal("experimental", default=False))

    @property
    def host_api(self) -> str | None:
        """The range of host APIs that it was written for, where it says one."""
        return self.card.literal("host_api") if self.card else None

    @property
    def needs(self) -> str:
        """The needs as the source spells them; a function of the parameters stays source text."""
        return self.card.stated.get("needs", "") if self.card else ""

    @cached_property
    def origin(self) -> str:
        return f"{self.distribution} {self.version}".strip()

    def load(self) -> type:
        """The class. Raises UnusablePlugin with the reason if it cannot be imported or is not a method."""
        if self.loaded is not None:
            return self.loaded
        whose = f"method {self.slug!r} of {self.origin}"
        if self.refused or self.disabled:
            raise UnusablePlugin(f"{whose} {self.error}")
        place = f"{self.path if self.from_file else self.module}:{self.attr}"
        own = file_module(self.path) if self.path and self.from_file else None
        try:
            found: Any = own or importlib.import_module(self.module)
            for part in self.attr.split("."):
                found = getattr(found, part)
        except PluginError as error:
            raise UnusablePlugin(f"{whose}: {error}") from error
        except (Exception, SystemExit) as error:  # a script without a guard ends the process on import
            raise UnusablePlugin(f"{whose} cannot be imported from {place}: {type(error).__name__}: {error}") from error
        if not isinstance(found, type):
            hint = f"; name its class {type(found).__name__}" if hasattr(type(found), "info") else ""
            raise UnusablePlugin(f"{whose}: {place} is no class decorated with @method but {_kind(found)}{hint}")
        if "info" not in vars(found):
            raise UnusablePlugin(f"{whose}: {place} is no class decorated with @method; decorate it")
        return found


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"an instance of {name}" if hasattr(type(value), "info") else f"a {name}"


def file_module(path: Path) -> ModuleType:
    """The module of a plugin file. Raises UnusablePlugin, in the same words whichever of its methods was asked for."""
    try:
        return _executed(path)
    except PluginError as error:
        raise UnusablePlugin(f"plugin file {str(path)!r}: {error}") from error
    except (Exception, SystemExit) as error:  # a script without a guard ends the process on import
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = f", line {lines[-1]}" if lines else ""
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise UnusablePlugin(f"plugin file {str(path)!r} cannot be imported{line}: {text}") from error


def _executed(path: Path) -> ModuleType:
    """The module; executed once per content, under a name that cannot clash."""
    name = f"harness_plugin_{path.stem}_{hashlib.sha256(str(path).encode() + path.read_bytes()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
