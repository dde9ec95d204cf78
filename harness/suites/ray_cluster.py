"""Joining a Ray cluster, or starting one on this machine, and what a trial takes up of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from harness import runtime
from harness.errors import HarnessError, UsageError
from harness.suites.schema import parse_bytes

if TYPE_CHECKING:
    from harness.training.config import TrialConfig

__all__ = ["check_room", "demand", "joined", "places"]

# what a user may have set for the harness's own processes, and workers on other machines must know
PASSED_ON = ("HARNESS_PLUGINS", "HARNESS_PLUGIN_AUTOLOAD", "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")


@contextlib.contextmanager
def joined(address: str = "") -> Iterator[Any]:
    """Ray, connected to the cluster at `address` or RAY_ADDRESS; without either, one on this machine for the block.

    Raises UsageError where Ray is not installed, HarnessError where no cluster answers. Nothing is reported to anyone.
    """
    runtime.prepare()
    try:
        import ray
    except ImportError:
        raise UsageError("--executor ray needs Ray: pip install 'policy-harness[ray]'") from None
    there = address or os.environ.get("RAY_ADDRESS", "")
    own: dict[str, Any] = {} if there else {"num_cpus": runtime.cores(), "include_dashboard": False}
    try:
        ray.init(address=there or "local", log_to_driver=False, logging_level="ERROR", **own)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f"at {there!r}" if there else "on this machine"
        reason = " ".join(str(error).split())[:200]
        raise HarnessError(
            f"no Ray cluster {where}: {reason}; start one with `ray start --head`, or give --ray-address"
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def demand(config: TrialConfig) -> dict[str, float]:
    """What Ray sets aside for a trial, in the words of `ray.cluster_resources()`."""
    asked = config.resources
    cuda = config.policy.device.startswith("cuda")
    memory = asked.memory or config.limits.memory
    found = {
        "CPU": float(config.threads * asked.ranks) if asked.cpus is None else asked.cpus,
        "GPU": float(cuda * asked.ranks) if asked.gpus is None else asked.gpus,
        "memory": float(parse_bytes(memory)) if memory else 0.0,
    }
    return {name: amount for name, amount in found.items() if amount}


def check_room(ray: Any, wanted: dict[str, float]) -> None:
    """Raise UsageError where no node could ever run a trial: Ray itself would wait for one for ever."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if any(_fitting(node, wanted) for node in nodes):
        return
    most = {name: max((node.get(name, 0.0) for node in nodes), default=0.0) for name in wanted}
    short = next((name for name in wanted if most[name] < wanted[name]), next(iter(wanted)))
    field = {"CPU": "cpus", "GPU": "gpus"}.get(short, short)
    raise UsageError(
        f"a trial asks for resources.{field} = {wanted[short]:g}, and no node of the cluster has more than "
        f"{most[short]:g}; lower it with --set resources.{field}=..., or start such a node first"
    )


def places(ray: Any, wanted: dict[str, float]) -> int:
    """How many trials the nodes of the cluster have room for side by side."""
    return sum(_fitting(node["Resources"], wanted) for node in ray.nodes() if node["Alive"])


def options(wanted: dict[str, float], threads: int) -> dict[str, Any]:
    """Options of the actor: what it takes up, and the environment of its process."""
    environment = {**runtime.ENVIRONMENT, **dict.fromkeys(runtime.THREAD_VARIABLES, str(threads))}
    environment |= {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {
        "num_cpus": wanted.get("CPU", 0),
        "num_gpus": wanted.get("GPU", 0),
        "memory": wanted.get("memory") or None,
        "max_restarts": 0,  # a trial is taken up again from its files, not by Ray
        "runtime_env": {"env_vars": environment},
    }


def _fitting(node: dict[str, float], wanted: dict[str, float]) -> int:
    return int(min((node.get(name, 0.0) // amount for name, amount in wanted.items()), default=1))
