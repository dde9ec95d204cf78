"""One optimizer minibatch of a generation batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from harness.batch import Batch
from harness.bridges.objective import Slopes

__all__ = ["ROWS", "Window"]

ROWS = "harness_rows"  # rides along with TRL's tensors: a row's place in the generation batch of all processes


@dataclasses.dataclass
class Window:
    """The rows of all processes with their weights, their places in the generation batch (ascending), this process's
    micro-batches, and the loss's slopes once they are known.
    """

    batch: Batch
    places: Tensor
    parts: list[dict[str, Any]]
    slopes: Slopes | None = None

    def rows(self, inputs: Mapping[str, Any]) -> Tensor:
        """Where the rows of a micro-batch are in this minibatch."""
        return torch.searchsorted(self.places, inputs[ROWS])
