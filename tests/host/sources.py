"""Sources of plugin modules."""

PARENT = '''
"""A module."""
from __future__ import annotations

from harness import hookimpl, method


@method(paper="2601.00001", base="root(beta=0)", needs=lambda m: {"reference"} if m.beta else set(), experimental=True)
class Parent:
    """The idea in a sentence.

    The formula.
    """

    beta: float = -1e-3
    modes: tuple[str, ...] = ("a", "b")

    @hookimpl
    def estimate_advantages(self, batch):
        return batch.reward

    @hookimpl(wrapper=True)
    def policy_loss(self):
        return (yield)
'''
CHILD = '''
from harness import hookimpl, method
from {package}.parent import Parent


@method(paper="2601.00002")
class Child(Parent):
    """Another idea."""

    extra: int = 3
    beta: float = 0.5

    @hookimpl
    def keep(self, batch):
        return batch.kept
'''

ALONE = PARENT.replace('base="root(beta=0)", ', "")  # stands on the defaults


def importable(package):
    (package / "__init__.py").write_text("")
