"""Calling the hooks of a stack for the probe: what a method needs and was not given is said by the input's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from harness.errors import UsageError
from harness.host import HookCaller
from harness.host.info import needs_of

if TYPE_CHECKING:
    from harness.batch import Batch

__all__ = ["ProbeCaller"]

_GIVEN_AS = {"entropy": "entropy", "reference": "logp_ref", "greedy": "greedy_reward"}


class ProbeCaller(HookCaller):
    """A `HookCaller` that turns the failure of a hook for want of an input into a UsageError which names the input."""

    def _call(self, hook: str, **arguments: Any) -> Any:
        try:
            return super()._call(hook, **arguments)
        except (TypeError, AttributeError) as error:
            batch = arguments.get("batch")
            wanted = self._wanted(batch, str(getattr(error, "__notes__", ""))) if batch is not None else ""
            if wanted and self.current is None and "NoneType" in str(error):
                raise UsageError(wanted) from error
            raise

    def per_token(self, advantages: Tensor) -> bool:
        """Whether the advantages that the call which just ended gave, [N, 1] or [N, T], are one a token.

        Where T is 1, what the method returned decides: [N] or [N, 1].
        """
        return advantages.shape[1] > 1 or len(self.plain_shape) > 1

    def _wanted(self, batch: Batch, notes: str) -> str:
        """What a plugin of the stack needs and the batch does not have; first of all what the failure names."""
        missing = [
            (f"batch.{field}" not in notes, f"{seat.label} needs {field}; give {field}= to the probe")
            for seat in self._seats
            for need, field in _GIVEN_AS.items()
            if need in needs_of(seat.plugin) and getattr(batch, field) is None
        ]
        missing += [
            (f"output.{need}" not in notes, f"{seat.label} needs {need} of the policy, and the probe has no policy")
            for seat in self._seats
            for need in needs_of(seat.plugin) - {*_GIVEN_AS}
        ]
        return min(missing, key=lambda found: found[0])[1] if missing else ""
