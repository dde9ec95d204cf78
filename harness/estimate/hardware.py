"""Hours on hardware that is not here: a bound by arithmetic and memory traffic, with the shares that are assumed.

Nothing of it is measured. Peaks are the vendors' figures for dense bfloat16 with float32 accumulation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from harness.estimate.workload import Workload
from harness.policies import limits

__all__ = ["HARDWARE", "Hardware", "Model", "gpus_needed", "memory_needed", "trial_seconds"]

UTILISATION = 0.35  # of the peak, in passes over whole rows
BANDWIDTH = 0.6  # of the memory bandwidth, while decoding
ROOM = 0.75  # of a GPU's memory for weights and optimizer; the rest holds activations, caches and the allocator
BYTES = 2  # a weight in bfloat16
TRAINED_BYTES = 16  # a trained parameter: weight, gradient and two moments of AdamW in float32
CACHE = 24e3  # bytes of keys and values a token of a policy of 1e9 parameters, growing with their root
LAUNCH = 0.01  # seconds a position takes to decode whatever the model: starting kernels


@dataclass(frozen=True)
class Hardware:
    """A GPU by its data sheet."""

    name: str
    peak: float  # operations a second
    memory: float  # bytes
    bandwidth: float  # bytes a second


HARDWARE: Mapping[str, Hardware] = MappingProxyType(
    {
        gpu.name: gpu
        for gpu in (
            Hardware("rtx-4090", 165e12, 24e9, 1.01e12),
            Hardware("l4", 121e12, 24e9, 0.30e12),
            Hardware("l40s", 362e12, 48e9, 0.86e12),
            Hardware("a100-80gb", 312e12, 80e9, 2.0e12),
            Hardware("h100", 989e12, 80e9, 3.35e12),
            Hardware("h200", 989e12, 141e9, 4.8e12),
        )
    }
)


@dataclass(frozen=True)
class Model:
    """What of a policy decides its cost."""

    parameters: float
    trained: float  # parameters that train: all, or the adapters'
    reference: bool = False  # a second copy of the weights is held (adapters need none)
    cache: float = 0.0  # bytes of keys and values a token; 0: by the size, which is right to a factor of three


def memory_needed(model: Model) -> float:
    """Bytes of weights, gradients and optimizer, activations and caches apart."""
    copies = 2 if model.reference and model.trained == model.parameters else 1
    return copies * BYTES * model.parameters + TRAINED_BYTES * model.trained


def gpus_needed(model: Model, gpu: Hardware) -> int:
    """The least power of two whose memory holds weights, gradients and optimizer."""
    return 2 ** max(0, math.ceil(math.log2(memory_needed(model) / (ROOM * gpu.memory))))


def trial_seconds(work: Workload, model: Model, gpu: Hardware, gpus: int = 1) -> float:
    """Seconds of a trial: passes bound by arithmetic, decoding by that, by reading the weights or by starting kernels.

    A forward of a token is taken as 2 operations a parameter; attention over long rows, communication between GPUs
    and the time that verifiers take are left out.
    """
    operations = 2 * model.parameters * max(work.compute + work.unpriced - work.generated, 0.0)
    passes = operations / (UTILISATION * gpu.peak * gpus)
    rows, writing = work.engine or (side_by_side(work.prompt + work.longest, model), gpus)
    decoding = work.steps * decode_seconds(work.rollouts / writing, work.longest, rows, model, gpu)
    asked = min(side_by_side(work.prompt + work.evaluated_longest, model), -(-work.evaluated_batch // gpus))
    evaluating = decode_seconds(work.evaluated / gpus, work.evaluated_longest, asked, model, gpu)
    return passes + decoding + work.evaluations * evaluating


def side_by_side(tokens: float, model: Model) -> int:
    """Completions that the built-in sampler decodes at a time: whose keys and values fit into its limit."""
    cache = model.cache or CACHE * math.sqrt(model.parameters / 1e9)
    return limits.side_by_side(model.parameters, tokens, cache)


def decode_seconds(completions: float, longest: float, rows: int, model: Model, gpu: Hardware) -> float:
    """Writing so many completions of up to `longest` tokens on one GPU, `rows` at a time."""
    if not completions:
        return 0.0
    rounds = math.ceil(completions / rows)
    arithmetic = 2 * model.parameters * (completions / rounds) / (UTILISATION * gpu.peak)
    traffic = BYTES * model.parameters / (BANDWIDTH * gpu.bandwidth)
    return rounds * longest * max(arithmetic, traffic, LAUNCH)
