"""Running trials on a Ray cluster, in place of processes of this machine.

Ray gives places and says when one is gone; everything else is the local executor's, which runs in each place. Whether a
place shares the disk is found out, not declared: where it does not, trials and their checkpoints travel as archives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness import runtime
from harness.suites import ray_cluster
from harness.suites.executor import Observer, Outcome
from harness.suites.ray_run import ATTEMPTS, Run
from harness.suites.worker import Job

__all__ = ["ATTEMPTS", "RayExecutor"]


class RayExecutor:
    """Has `run_jobs` of the local executor, for a cluster that `ray_cluster.joined` has connected to."""

    def __init__(self, ray: Any, *, share: bool = True) -> None:
        """`share=False` sends files even where the disk is shared."""
        self.ray = ray
        self.share = share

    def run_jobs(
        self,
        jobs: Sequence[Job],
        *,
        workers: int | None,
        observer: Observer,
        interrupt: runtime.Interrupt | None = None,
        deadline: float | None = None,
    ) -> list[Outcome]:
        """As the local executor's; `workers=None`: as many as the cluster has room for now, at a vLLM server one.

        Raises UsageError where no node could run a trial.
        """
        if not jobs:
            return []
        wanted = ray_cluster.demand(jobs[0].config)
        ray_cluster.check_room(self.ray, wanted)
        interrupt = runtime.Interrupt() if interrupt is None else interrupt
        count = workers or (1 if jobs[0].config.sampler.served else max(1, ray_cluster.places(self.ray, wanted)))
        return Run(
            self.ray, jobs, share=self.share, workers=count, observer=observer, interrupt=interrupt, deadline=deadline
        ).outcomes()
