"""A sampler over an engine, with an engine made of the built-in sampler; vLLM's own calls, with a vLLM that records."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import threading
import types
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.engines import Answer, EngineSampler, Job
from harness.engines.base import parameters
from harness.engines.handshake import check_agreement
from harness.engines.sampler import fingerprint
from harness.engines.server import Server
from harness.engines.vllm import Colocated
from harness.errors import HarnessError, UsageError
from harness.policies.policy import Policy
from harness.policies.random import tiny_policy
from harness.policies.rollouts import Request
from harness.policies.sampler import Sampler
from harness.suites import Suite, trials
from harness.training.config import VllmConfig
from harness.training.trial import run_trial

PROMPT = (5, 6, 7)


class Twin:
    """An engine that answers with the weights that it was given, greedily with log-probabilities at temperature 1."""

    def __init__(self, folder: Path) -> None:
        self.loaded = 0
        self.closed = False
        self.load(folder)

    def load(self, directory: Path) -> None:
        self.policy = Policy.load(directory)
        self.loaded += 1

    def write(self, jobs: Sequence[Job], stop_ids: Sequence[int]) -> list[Answer]:
        self.jobs = list(jobs)
        self.policy.stop_ids = tuple(stop_ids)
        requests = [
            Request(
                f"{job.seed}", job.context, 1, max_tokens=job.limit, greedy=job.greedy,
                temperature=1.0 if job.greedy else job.temperature,
            )
            for job in jobs
        ]  # fmt: skip
        out = Sampler(self.policy).generate(requests, seed=1, step=0)
        return [
            Answer(tuple(out.ids(row)), tuple(out.logp[row, : int(out.lengths[row])].tolist()))
            for row in range(len(out))
        ]

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def sampler(tmp_path: Path) -> EngineSampler:
    policy = tiny_policy()
    policy.save(tmp_path)
    return EngineSampler(policy, Twin(tmp_path), tmp_path)


def test_greedy_completions_are_those_of_the_built_in_sampler(sampler: EngineSampler) -> None:
    requests = [Request("a", PROMPT, 2, max_tokens=6, greedy=True), Request("b", (9,), 1, max_tokens=4, greedy=True)]
    got = sampler.generate(requests, seed=0, step=0)
    want = Sampler(sampler.policy).generate(requests, seed=0, step=0)
    for name in ("completion_ids", "mask", "lengths", "truncated", "generated", "index", "rollout", "prompt_ids"):
        assert torch.equal(getattr(got, name), getattr(want, name)), name
    torch.testing.assert_close(got.logp, want.logp)
    assert got.texts == want.texts


def test_greedy_log_probabilities_are_those_of_the_request_s_temperature(sampler: EngineSampler) -> None:
    requests = [
        Request("a", PROMPT, 1, max_tokens=6, greedy=True, temperature=0.5, prefix=(8, 9), prefix_logp=(-1.0, -2.0)),
        Request("b", PROMPT, 2, max_tokens=4, greedy=True),
    ]
    got = sampler.generate(requests, seed=0, step=0)
    want = Sampler(sampler.policy).generate(requests, seed=0, step=0)
    torch.testing.assert_close(got.logp, want.logp)
    assert got.logp[0, :2].tolist() == [-1, -2]


def sharp(seed: int = 0) -> Policy:
    """A policy whose distributions temperature changes visibly."""
    policy = tiny_policy(seed=seed, tie=False)
    with torch.no_grad():
        policy.model.get_output_embeddings().weight.mul_(20)
    return policy


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("untempered", "before temperature.*--logprobs-mode processed_logprobs"),
        ("other weights", "nats a token from the policy's"),
    ],
)
def test_an_engine_that_means_something_else_is_refused_at_the_start(tmp_path: Path, fault: str, told: str) -> None:
    policy = sharp()
    policy.save(tmp_path)
    engine = Twin(tmp_path)
    check_agreement(policy, engine)
    if fault == "other weights":
        sharp(seed=1).save(tmp_path)
        engine.load(tmp_path)
    else:
        write = engine.write

        def untempered(jobs: Sequence[Job], stop_ids: Sequence[int]) -> list[Answer]:
            answers = write(jobs, stop_ids)
            scored = policy.score([job.context for job in jobs], [answer.ids for answer in answers])
            return [
                Answer(answer.ids, tuple(scored[row, : len(answer.ids)].tolist())) for row, answer in enumerate(answers)
            ]

        engine.write = untempered
    with pytest.raises(HarnessError, match=told):
        check_agreement(policy, engine)


def test_new_weights_are_new_files(sampler: EngineSampler, tmp_path: Path) -> None:
    """An engine may have the old ones mapped into its memory."""
    file = tmp_path / "model.safetensors"
    with file.open("rb") as held:
        before = held.read()
        held.seek(0)
        with torch.no_grad():
            next(sampler.policy.model.parameters()).add_(1)
        sampler.follow()
        assert held.read() == before
    assert file.read_bytes() != before


def test_prefixes_are_kept_and_not_charged_again(sampler: EngineSampler) -> None:
    prefix = Request("a", PROMPT, 1, max_tokens=5, prefix=(11, 12), prefix_logp=(-1.0, -2.0), greedy=True)
    out = sampler.generate([prefix], seed=0, step=0)
    assert sampler.engine.jobs[0].context == (*PROMPT, 11, 12)
    assert sampler.engine.jobs[0].limit == 3
    assert out.completion_ids[0, :2].tolist() == [11, 12]
    assert out.logp[0, :2].tolist() == [-1, -2]
    assert int(out.generated[0]) == int(out.lengths[0]) - 2


def test_the_engine_follows_the_weights_and_completions_are_stamped(sampler: EngineSampler) -> None:
    request = [Request("a", PROMPT, 1, max_tokens=4, greedy=True)]
    first = sampler.generate(request, seed=0, step=0)
    again = sampler.generate(request, seed=0, step=1)
    assert sampler.engine.loaded == 1
    assert first.extras["weights"].tolist() == again.extras["weights"].tolist() == [0]
    optimizer = torch.optim.AdamW(sampler.policy.model.parameters(), lr=0.1, fused=True)
    sum(p.square().sum() for p in sampler.policy.model.parameters()).backward()
    optimizer.step()
    moved = sampler.generate(request, seed=0, step=2)
    assert sampler.engine.loaded == 2
    assert moved.extras["weights"].tolist() == [1]
    assert not torch.equal(moved.logp, first.logp)


@pytest.mark.parametrize("write", ["copy_", "add_", "lerp_", "set"])
def test_every_way_to_write_weights_is_seen(write: str) -> None:
    policy = tiny_policy()
    before = fingerprint(policy)
    parameter = next(policy.model.parameters())
    with torch.no_grad():
        if write == "set":
            parameter[1] = 0
        elif write == "lerp_":
            parameter.lerp_(torch.zeros_like(parameter), 0.5)
        else:
            getattr(parameter, write)(torch.full_like(parameter, 1e-4))
    assert fingerprint(policy) != before


def test_every_completion_has_a_seed_of_its_own(sampler: EngineSampler) -> None:
    requests = [Request("a", PROMPT, 3, max_tokens=2), Request("b", PROMPT, 3, max_tokens=2)]
    sampler.generate(requests, seed=0, step=0)
    first = [job.seed for job in sampler.engine.jobs]
    sampler.generate(requests, seed=0, step=0)
    assert [job.seed for job in sampler.engine.jobs] == first
    sampler.generate(requests, seed=0, step=1)
    assert len({*first, *(job.seed for job in sampler.engine.jobs)}) == 12
    assert all(0 <= seed < 2**63 for seed in first)


@pytest.mark.parametrize("answer", [Answer((), ()), Answer((1, 1, 1), (0.0, 0.0, 0.0)), Answer((1, 1), (0.0,))])
def test_an_answer_that_does_not_fit_is_refused(sampler: EngineSampler, answer: Answer) -> None:
    sampler.engine.write = lambda jobs, stop_ids: [answer for _ in jobs]
    with pytest.raises(HarnessError, match="the engine gave"):
        sampler.generate([Request("a", PROMPT, 1, max_tokens=2)], seed=0, step=0)


class Follower:
    """The second of two ranks: what the first made comes in `sent`."""

    size, rank, leader = 2, 1, False

    def __init__(self, sent: Any) -> None:
        self.sent = sent

    def first(self, make: Any) -> Any:
        return self.sent


def test_a_rank_without_an_engine_goes_on_with_what_the_first_wrote(sampler: EngineSampler, tmp_path: Path) -> None:
    request = [Request("a", PROMPT, 2, max_tokens=3, greedy=True)]
    want = sampler.generate(request, seed=0, step=0)
    answers = sampler.engine.write(sampler.engine.jobs, sampler.policy.stop_ids)
    policy = tiny_policy()
    policy.world = Follower((answers, 7))
    got = EngineSampler(policy, None, tmp_path).generate(request, seed=0, step=0)
    assert torch.equal(got.completion_ids, want.completion_ids)
    assert got.extras["weights"].tolist() == [7, 7]


def test_a_trial_samples_from_its_engine_and_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Twin] = []

    def start(directory: Path, policy: Policy, settings: Any) -> Twin:
        made.append(Twin(directory))
        return made[-1]

    monkeypatch.setattr("harness.engines.vllm.start", start)
    sets = ["sampler.engine=vllm", "learner.minibatches=1", "sampling.prompts=4", "budget={updates: 2}"]
    suite = Suite.load("tiny", [*sets, "tasks=[{task: math}]"], {"seeds": 1, "methods": []})
    config = next(trial for trial in trials(suite) if trial.method == "grpo(beta=0)")
    result = run_trial(config, tmp_path / "trial")
    assert (result.status, result.error) == ("done", None)
    assert made[0].closed
    assert made[0].loaded == 2  # once at the start, once after the first update
    records = [json.loads(line) for line in (tmp_path / "trial" / "metrics.jsonl").read_text().splitlines()]
    for record in records:  # measured with a single minibatch too, where no pass is made for it
        assert record["logp_gap_max"] < 1e-3
        assert record["ess_tokens"] == pytest.approx(1, abs=1e-3)


def test_an_engine_that_keeps_old_weights_shows_in_the_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.engines.vllm.start", lambda directory, policy, settings: Twin(directory))
    monkeypatch.setattr(EngineSampler, "follow", lambda self: None)
    sets = ["sampler.engine=vllm", "sampling.prompts=4", "budget={updates: 8}", "optimizer.lr=1e-2"]
    suite = Suite.load("tiny", [*sets, "tasks=[{task: math}]"], {"seeds": 1, "methods": []})
    config = next(trial for trial in trials(suite) if trial.method == "grpo(beta=0)")
    run_trial(config, tmp_path / "trial")
    records = [json.loads(line) for line in (tmp_path / "trial" / "metrics.jsonl").read_text().splitlines()]
    assert records[0]["logp_gap"] < 1e-4
    assert records[1]["logp_gap"] > 1e-2
    assert records[1]["ess_rows"] < 0.99


JOB = Job(context=PROMPT, limit=4, temperature=0.7, greedy=False, seed=3)


def test_what_vllm_is_asked() -> None:
    asked = parameters(JOB, (2, 9))
    assert asked["temperature"] == 0.7
    assert parameters(dataclasses.replace(JOB, greedy=True), ())["temperature"] == 0
    assert asked["stop_token_ids"] == [2, 9]
    assert (asked["top_p"], asked["top_k"], asked["min_p"], asked["repetition_penalty"]) == (1, 0, 0, 1)
    assert (asked["seed"], asked["logprobs"], asked["max_tokens"]) == (3, 0, 4)


class FakeVllm(types.ModuleType):
    """Records how it is called."""

    def __init__(self) -> None:
        super().__init__("vllm")
        fake, calls = self, []
        self.calls = calls
        self.processes: list[subprocess.Popen[bytes]] = []
        self.fails = False

        class LLM:
            llm_engine = types.SimpleNamespace(
                engine_core=types.SimpleNamespace(shutdown=lambda: calls.append("shutdown"))
            )
            model_config = types.SimpleNamespace(max_model_len=12)

            def __init__(self, **settings: Any) -> None:
                self.settings = settings
                self.empties = True
                torch.manual_seed(settings["seed"])
                os.environ["LD_PRELOAD"] = "its-own.so"
                self.process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
                fake.processes.append(self.process)
                if fake.fails:
                    raise RuntimeError("EngineCore\nencountered an issue")

            def generate(self, prompts: Any, params: Any, **_: Any) -> list[Any]:
                drawn = types.SimpleNamespace(logprob=-0.5)
                output = types.SimpleNamespace(token_ids=[4, 2], logprobs=[{4: drawn}, {2: drawn}])
                return [types.SimpleNamespace(outputs=[output]) for _ in prompts]

            def collective_rpc(self, name: str, kwargs: Any = None) -> None:
                calls.append((name, kwargs))

            def reset_prefix_cache(self) -> bool:
                calls.append("reset")
                return self.empties

        self.LLM = LLM
        self.SamplingParams = lambda **settings: settings


def test_a_colocated_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeVllm()
    monkeypatch.setitem(sys.modules, "vllm", fake)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr("harness.engines.processes.PATIENCE", 0.2)
    random = torch.random.get_rng_state()
    engine = Colocated(tmp_path, tiny_policy(), VllmConfig())
    assert torch.equal(torch.random.get_rng_state(), random)
    assert "LD_PRELOAD" not in os.environ  # which what the trial starts later would load too
    assert engine.llm.settings["logprobs_mode"] == "processed_logprobs"  # of the distribution that is drawn from
    assert engine.llm.settings["generation_config"] == "vllm"
    assert engine.write([JOB, JOB], (2,)) == [Answer((4, 2), (-0.5, -0.5))] * 2
    engine.load(tmp_path)
    loads = ("reload_weights", {"weights_path": str(tmp_path)})
    assert fake.calls == [loads, ("repack_heads", None), "reset"]
    with pytest.raises(UsageError, match=r"may take 13 tokens, and vLLM was started for 12"):
        engine.write([dataclasses.replace(JOB, limit=10)], ())
    engine.llm.empties = False
    with pytest.raises(HarnessError, match=r"did not take new weights .*prefix cache"):
        engine.load(tmp_path)
    engine.close()
    assert fake.calls[-1] == "shutdown"
    assert fake.processes[0].poll() is not None  # it does not end by itself, and is ended
    with pytest.raises(HarnessError, match=r"engine failed while it wrote \(.*is dead\)"):
        engine.write([JOB], ())


def test_what_vllm_raises_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeVllm()
    monkeypatch.setitem(sys.modules, "vllm", fake)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr("harness.engines.processes.PATIENCE", 0.2)
    engine = Colocated(tmp_path, tiny_policy(), VllmConfig())

    def dead(*_: Any, **__: Any) -> None:
        raise RuntimeError("EngineCore\nencountered an issue")

    engine.llm.generate = dead
    with pytest.raises(
        HarnessError, match=r"^vLLM's engine failed while it wrote \(RuntimeError: EngineCore enc.*log$"
    ):
        engine.write([JOB], ())
    engine.close()
    fake.fails = True
    with pytest.raises(HarnessError, match=r"^vLLM's engine did not start"):
        Colocated(tmp_path, tiny_policy(), VllmConfig())
    assert [process.poll() is None for process in fake.processes] == [False, False]


def test_without_vllm_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(UsageError, match=r"policy-harness\[vllm\]"):
        Colocated(tmp_path, tiny_policy(), VllmConfig())


@contextlib.contextmanager
def serving(refuse: bool = False, empties: bool = True) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    seen: list[tuple[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(404 if refuse and self.path == "/collective_rpc" else 200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self.answer({"data": [{"id": "some-model", "max_model_len": 12}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.path, body))
            if self.path == "/reset_prefix_cache":
                self.answer({"success": empties})
                return
            logprobs = {"token_logprobs": [-0.25, -0.5]}
            self.answer({"choices": [{"token_ids": [4, 2], "logprobs": logprobs}]})

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_server(tmp_path: Path) -> None:
    with serving() as (url, seen):
        engine = Server(url, 10)
        engine.load(tmp_path)
        assert engine.write([JOB], (2,)) == [Answer((4, 2), (-0.25, -0.5))]
    assert [path for path, _ in seen] == ["/collective_rpc", "/reset_prefix_cache", "/v1/completions"]
    assert seen[0][1] == {"method": "reload_weights", "kwargs": {"weights_path": str(tmp_path)}}
    assert seen[2][1]["prompt"] == list(PROMPT)
    assert seen[2][1]["model"] == "some-model"
    with pytest.raises(UsageError, match=r"may take 13 tokens, and vLLM was started for 12"):
        engine.write([dataclasses.replace(JOB, limit=10)], ())


def test_a_server_that_keeps_its_cache_is_refused(tmp_path: Path) -> None:
    with serving(empties=False) as (url, _), pytest.raises(HarnessError, match=r"could not empty its prefix cache"):
        Server(url, 10).load(tmp_path)


def test_a_server_that_refuses_or_is_not_there_is_one_line(tmp_path: Path) -> None:
    with serving(refuse=True) as (url, _), pytest.raises(HarnessError, match=r"404.*VLLM_SERVER_DEV_MODE=1"):
        Server(url, 10).load(tmp_path)
    with pytest.raises(HarnessError, match=r"does not answer.*vllm serve"):
        Server("http://127.0.0.1:9", 2)


def test_no_rows_have_no_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transformers that vLLM 0.32 asks for answers with one."""
    policy = tiny_policy()
    assert policy.token_texts([5, 6]) == policy.token_texts([5, 6])
    monkeypatch.setattr(type(policy.tokenizer), "batch_decode", lambda *_, **__: [""])
    assert policy.decode_all([]) == []
    assert policy.token_texts([5, 6]) == policy.token_texts([6, 5])[::-1]
