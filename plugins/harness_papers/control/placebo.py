"""The identity wrapper round every hook: its difference from its base must be exactly zero."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from harness import hookimpl, method

Identity = Generator[None, Any, Any]


@method(base="grpo(beta=0)", identity=True)
class Placebo:
    """Wraps every hook and returns what it was given.

    Under the shared seeds its curves are those of its base, bit for bit; a board on which they differ compares noise.
    """

    @hookimpl(wrapper=True)
    def start(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def build(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def select_prompts(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def allocate_rollouts(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def generate(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def score(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def group_by(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def keep(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def next_round(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def augment(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def annotate(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def estimate_advantages(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def train_on(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def aggregate(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def policy_loss(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def loss(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def regularize(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def update(self) -> Identity:
        """What lies below."""
        return (yield)

    @hookimpl(wrapper=True)
    def end_step(self) -> Identity:
        """What lies below."""
        return (yield)
