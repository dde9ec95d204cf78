"""Small plugins, and stacks made of classes instead of entry points."""

from __future__ import annotations

from typing import Any

import pytest

from harness import PluginError, PolicyOutput, hookimpl, method
from harness.host import Catalogue, HookCaller, Stack, build_stack


def catalogue(*classes: type) -> Catalogue:
    """A catalogue of classes under the slugs that they give themselves."""
    found = Catalogue([])
    for cls in classes:
        found = found.with_class(cls)
    return found


def stack(text: str, *classes: type) -> Stack:
    """The stack of a string over the given classes."""
    return build_stack(text, catalogue(*classes))


def caller(*classes: type, state: Any = None) -> HookCaller:
    """A caller over plugins with default parameters, left to right."""
    return stack("+".join(cls.info.slug for cls in classes), *classes).caller(state)


def plugin(**hooks: Any) -> type:
    """A method class named `probe-me` with the given plain implementations."""
    return method(type("ProbeMe", (), {name: hookimpl(function) for name, function in hooks.items()}))


def wrapper(**hooks: Any) -> type:
    """A method class named `wrap-me` with the given wrappers."""
    return method(type("WrapMe", (), {name: hookimpl(wrapper=True)(function) for name, function in hooks.items()}))


def output_of(batch, **fields):
    return PolicyOutput(
        logp=batch.logp_old.clone().requires_grad_(), logp_old=batch.logp_old, mask=batch.mask, **fields
    )


def ready(batch):
    """The batch as the learner hands it to the hooks of the loss."""
    return batch.replace(advantages=batch.groups.center(batch.reward)[:, None], weights=batch.mask / batch.mask.sum())


def breaks(hook, match=r"", slug="probe-me"):
    """A PluginError that names the plugin of `plugin()`, where it is from, and the hook."""
    return pytest.raises(PluginError, match=rf"plugin '{slug}' \(tests\.host\.plugins\), hook {hook}: .*{match}")


def wrapper_breaks(hook, match=r""):
    return breaks(hook, match, "wrap-me")


def returning(hook, value):
    """A caller over a plugin whose hook returns a value, or what a function of the batch gives."""
    if hook in (
        "select_prompts",
        "allocate_rollouts",
        "generate",
        "score",
        "start",
        "build",
        "update",
        "end_step",
        "next_round",
    ):
        return caller(plugin(**{hook: lambda self: value}))
    return caller(plugin(**{hook: lambda self, batch: value(batch) if callable(value) else value}))
