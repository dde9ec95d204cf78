"""Engines that sample in place of the built-in sampler: fast servers for models that outgrow it."""

from __future__ import annotations

from harness.engines.base import Answer, Engine, Job
from harness.engines.sampler import EngineSampler, open_sampler

__all__ = ["Answer", "Engine", "EngineSampler", "Job", "open_sampler"]
