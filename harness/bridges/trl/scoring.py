"""What the policy says about the completions of a micro-batch, by TRL's own pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

__all__ = ["score"]


def score(trainer: Any, model: Any, inputs: Mapping[str, Any], width: int) -> tuple[Tensor, Tensor]:
    """(log-probabilities, entropies) [n, width]: longer completions may be on other processes.

    Without gradient in chunks of TRL's batch size, with gradient in one piece.
    """
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
    mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
    length = inputs["completion_ids"].shape[1]
    size = None if torch.is_grad_enabled() else trainer.args.per_device_train_batch_size
    logp, entropy, _ = trainer._get_per_token_logps_and_entropies(  # noqa: SLF001 - TRL has no public name for it
        model, ids, mask, length, batch_size=size, compute_entropy=True
    )
    return pad(logp.float(), (0, width - length)), pad(entropy.float(), (0, width - length))
