"""Several processes that train one trial: every rank sees every row, and works on its share of them."""

from harness.distributed.world import SOLO, Ranks, World

__all__ = ["SOLO", "Ranks", "World"]
