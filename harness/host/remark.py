"""`Remark`: one thing about a stack that its author may not have meant, and the hooks that remarks are made of."""

from __future__ import annotations

import dataclasses

__all__ = ["MEASURED", "Remark"]

MEASURED = (
    "group_by", "keep", "shape_rewards", "estimate_advantages", "train_on", "aggregate", "policy_loss", "loss",
    "regularize",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Remark:
    """kind: double normalisation, inert, discarded, in vain, unweighed or not measured.

    hook: one, or several with commas between.
    `text` does not name the hook where `hook` does.
    """

    kind: str
    hook: str
    plugins: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.hook + ' of ' if self.hook else ''}{self.text}"
