"""What a suite will cost before it runs: tokens, operations and hours, from a short run here and from arithmetic."""

from __future__ import annotations

from harness.estimate.calibrate import Calibration, calibrate
from harness.estimate.hardware import HARDWARE, Hardware, Model, memory_needed, trial_seconds
from harness.estimate.workload import Workload, nominal, workload

__all__ = [
    "HARDWARE", "Calibration", "Hardware", "Model", "Workload", "calibrate", "memory_needed", "nominal",
    "trial_seconds", "workload",
]  # fmt: skip
