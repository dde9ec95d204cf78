"""Trials on a Ray cluster of two nodes: the same bits as here, whatever is killed in between."""

import io
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

from harness import runtime
from harness.errors import UsageError
from harness.files import read_json
from harness.suites.executor import run_jobs
from harness.suites.expand import trials
from harness.suites.ray_cluster import check_room, demand, joined
from harness.suites.ray_executor import ATTEMPTS, RayExecutor
from harness.suites.run import execute, plan
from harness.suites.store import RunDirectory
from harness.suites.worker import Job
from tests.suites.test_executor import Watcher

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

SMALL = {
    "sampling__prompts": 4, "sampling__group_size": 4, "sampling__max_tokens": 12, "evaluation__problems": 8,
    "evaluation__samples": 1, "budget__updates": 6, "checkpoint_seconds": 0,
}  # fmt: skip
SAME = ("metrics.jsonl", "evaluations.jsonl", "items.jsonl")


@pytest.fixture(scope="module")
def cluster():
    """A head that runs nothing, and two nodes with a core each."""
    from ray.cluster_utils import Cluster

    runtime.prepare()
    os.environ["RAY_AUTH_MODE"] = "disabled"
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - Ray's workers yield to everything else, and a test waits for them
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        made.add_node(num_cpus=1)
    yield made
    made.shutdown()


@pytest.fixture(scope="module")
def connected(cluster):
    with joined(cluster.address) as connection:
        yield connection


@pytest.fixture
def jobs(tmp_path, suite):
    def make(folder, runner="", **changes):
        store = RunDirectory(tmp_path / folder)
        named = {"runner": f"tests.suites.fake_trials:{runner}"} if runner else {}
        return [Job(config, store.trial(config), **named) for config in trials(suite(**changes), str)]

    return make


def lines(job, name="metrics.jsonl"):
    file = job.directory / name
    return file.read_bytes().splitlines() if file.exists() else []


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def actor_of(job) -> int:
    """The process of the Ray actor: the trial's parent is the server that it was forked from."""
    return parent(parent(int(read_json(job.directory / "status.json")["pid"])))


def in_background(function):
    """Call in a thread; the result is in the list once it has ended."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    return thread, found


def wait_for(condition, seconds=400):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Files of the same trials, trained by the local executor."""
    from harness.suites.schema import Suite

    directory = tmp_path_factory.mktemp("undisturbed")
    file = directory / "small.yaml"
    file.write_text("name: small\nbudget: {updates: 20}\nmethods: [dr-grpo]\nseeds: 2\nhonesty: []\n")
    made = Suite.load(file, [f"{key.replace('__', '.')}={value}" for key, value in SMALL.items()])
    store = RunDirectory(directory)
    todo = [Job(config, store.trial(config)) for config in trials(made, str)]
    outcomes = run_jobs(todo, workers=2, observer=Watcher())
    assert [outcome.status for outcome in outcomes] == ["done"] * 4
    return {job.label: {name: (job.directory / name).read_bytes() for name in SAME} for job in todo}


def assert_same(jobs, undisturbed):
    for job in jobs:
        for name in SAME:
            assert (job.directory / name).read_bytes() == undisturbed[job.label][name], (job.label, name)


@pytest.mark.parametrize("share", [True, False])
def test_trials_on_a_cluster_give_the_bits_of_the_local_executor(connected, jobs, undisturbed, share):
    todo, watcher = jobs("ray", **SMALL), Watcher()
    outcomes = RayExecutor(connected, share=share).run_jobs(todo, workers=None, observer=watcher)
    assert [(outcome.status, outcome.error, outcome.retries) for outcome in outcomes] == [("done", None, 0)] * 4
    assert_same(todo, undisturbed)
    for job in todo:
        assert read_json(job.directory / "result.json")["status"] == "done"
        assert {"log.txt", "config.json", "ledger.json", "checkpoints"} <= {
            path.name for path in job.directory.iterdir()
        }
    assert {event[0] for event in watcher.events} == {"started", "beat", "ended"}
    assert not list(todo[0].directory.parents[1].glob(".ray-*"))


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("victim", ["trial", "actor"])
def test_a_killed_worker_is_replaced_and_its_trial_goes_on_from_its_checkpoint(
    connected, jobs, undisturbed, share, victim
):
    todo = jobs("killed", **SMALL, seeds=1)
    executor = RayExecutor(connected, share=share)
    thread, found = in_background(lambda: executor.run_jobs(todo, workers=2, observer=Watcher()))
    wait_for(lambda: len(lines(todo[0])) >= 2)
    os.kill(
        actor_of(todo[0]) if victim == "actor" else read_json(todo[0].directory / "status.json")["pid"], signal.SIGKILL
    )
    thread.join()
    (outcomes,) = found
    retries = {outcome.job: outcome.retries for outcome in outcomes}
    assert [outcome.status for outcome in outcomes] == ["done"] * 2
    assert retries[todo[0]] >= 1
    assert retries[todo[1]] == 0
    recorded = [json.loads(line) for line in lines(todo[0], ATTEMPTS)]
    assert len(recorded) == retries[todo[0]]
    assert recorded[0]["error"]
    assert_same(todo, undisturbed)


def test_a_lost_node_costs_its_trial_nothing_but_time(cluster, connected, jobs, undisturbed):
    node = cluster.add_node(num_cpus=1, resources={"doomed": 1})
    todo = jobs("lost", **SMALL, seeds=2)
    thread, found = in_background(
        lambda: RayExecutor(connected, share=False).run_jobs(todo, workers=3, observer=Watcher())
    )
    wait_for(lambda: sum(len(lines(job)) >= 1 for job in todo) >= 3)
    cluster.remove_node(node, allow_graceful=False)
    thread.join()
    (outcomes,) = found
    assert [outcome.status for outcome in outcomes] == ["done"] * 4
    assert sum(outcome.retries for outcome in outcomes) >= 1
    assert_same(todo, undisturbed)


def test_a_trial_that_always_kills_its_worker_is_given_up(connected, jobs):
    todo = jobs("crash", "by_name", methods=["crash"], seeds=1, resources__retries=1)
    outcomes = RayExecutor(connected).run_jobs(todo, workers=2, observer=Watcher())
    found = {outcome.job.config.method: outcome for outcome in outcomes}
    assert found["grpo(beta=0)"].status == "done"
    assert found["crash"].status == "failed"
    assert found["crash"].error.startswith(
        "its worker was lost 2 times, the last time: the worker died: killed by SIGSEGV"
    )
    assert len(lines(found["crash"].job, ATTEMPTS)) == 2
    assert read_json(found["crash"].job.directory / "result.json")["status"] == "failed"


def test_limits_hold_there_too(connected, jobs):
    todo = jobs("limits", "by_name", methods=["hungry"], seeds=1, limits__memory="300MiB")
    outcomes = RayExecutor(connected).run_jobs(todo, workers=2, observer=Watcher())
    (hungry,) = (outcome for outcome in outcomes if outcome.job.config.method == "hungry")
    assert hungry.status == "failed"
    assert "limits.memory is 300MiB" in hungry.error
    assert hungry.retries == 0


@pytest.mark.parametrize("share", [True, False])
def test_a_signal_or_the_deadline_stops_cleanly_and_the_same_call_goes_on(connected, jobs, share):
    changes = {"budget__updates": 100_000, "seeds": 1}
    executor, interrupt, watcher = RayExecutor(connected, share=share), runtime.Interrupt(), Watcher()
    todo = jobs("stopped", "until_stopped", **changes)
    thread, found = in_background(lambda: executor.run_jobs(todo, workers=2, observer=watcher, interrupt=interrupt))
    wait_for(lambda: len({event[1] for event in watcher.events if event[0] == "beat" and event[2]["step"] > 5}) == 2)
    interrupt.count += 1
    thread.join()
    assert [outcome.status for outcome in found[0]] == ["interrupted"] * 2
    steps = int((todo[0].directory / "steps").read_text())
    assert steps > 5
    again = jobs("stopped", "until_stopped", budget__updates=5, seeds=1)
    outcomes = executor.run_jobs(again, workers=2, observer=Watcher())
    assert [outcome.status for outcome in outcomes] == ["done"] * 2
    assert int((todo[0].directory / "steps").read_text()) == steps  # what was counted is kept
    late = executor.run_jobs(
        jobs("late", "until_stopped", **changes), workers=1, observer=Watcher(), deadline=time.monotonic() + 60
    )
    assert [outcome.status for outcome in late] == ["interrupted"]


def test_a_plugin_file_reaches_the_workers(connected, tmp_path, suite):
    folder = tmp_path / "driver_only"
    folder.mkdir()
    file = folder / "best_half.py"
    file.write_text(
        "from harness import hookimpl, method\n\n\n@method(base='grpo(beta=0)')\nclass BestHalf:\n"
        '    """Centred."""\n\n    @hookimpl\n    def estimate_advantages(self, batch):\n'
        "        return batch.groups.center(batch.reward)\n"
    )
    made = suite(**SMALL, seeds=1, methods=["best-half"], plugins=[str(file)])
    todo = plan(made, out=tmp_path / "runs")
    quiet = Console(file=io.StringIO())
    executor = RayExecutor(connected, share=False)
    report = execute(todo, console=quiet, run_on=executor.run_jobs)
    assert [(outcome.status, outcome.error) for outcome in report.outcomes] == [("done", None)] * 2
    assert execute(todo, console=quiet, run_on=executor.run_jobs).skipped == 2


def test_what_no_node_can_give_is_said_at_once(connected, suite):
    config = trials(suite(resources__gpus=2, seeds=1), str)[0]
    with pytest.raises(UsageError, match=r"resources.gpus = 2, and no node of the cluster has more than 0"):
        check_room(connected, demand(config))


def test_resources_follow_the_suite(suite):
    config = trials(suite(threads=2, limits__memory="1GiB", seeds=1), str)[0]
    assert demand(config) == {"CPU": 2, "memory": 2**30}
    config = trials(suite(policy__device="cuda", resources__cpus=4, seeds=1), str)[0]
    assert demand(config) == {"CPU": 4, "GPU": 1}
