"""What vLLM's workers do for the harness beside their own work; they import it by name."""

from __future__ import annotations

from typing import Any

__all__ = ["Heads"]


class Heads:
    """Mixed into a worker of vLLM (`worker_extension_cls`)."""

    model_runner: Any

    def repack_heads(self) -> int:
        """Pack the output layers' weights once more; how many there are.

        On a CPU vLLM 0.32 multiplies by a packed copy of them. Loading new weights makes that of every layer anew but
        of a head that is tied to the embeddings: its weights come with those, so it goes on with the old copy.
        """
        layers = [one for one in self.model_runner.get_model().modules() if type(one).__name__ == "ParallelLMHead"]
        for layer in layers:
            layer.quant_method.process_weights_after_loading(layer)
        return len(layers)
