"""vLLM as a server that is already there: `vllm serve`, asked over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.engines.base import Answer, Job, check_room, parameters
from harness.errors import HarnessError

__all__ = ["Server"]

AT_ONCE = 64  # requests under way, so that the server may batch them


class Server:
    """A `vllm serve` that is already running, with VLLM_SERVER_DEV_MODE=1 and `--logprobs-mode processed_logprobs`.

    It reads new weights from the directory that the trial writes: both must see one file system.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self.url = url.rstrip("/")
        self.timeout = timeout
        found = self._ask("/v1/models")["data"][0]
        self.model = str(found["id"])
        self.room: int | None = found.get("max_model_len")

    def write(self, jobs: Sequence[Job], stop_ids: Sequence[int]) -> list[Answer]:
        """One request a completion, many at a time."""
        from concurrent.futures import ThreadPoolExecutor

        if not jobs:
            return []
        check_room(jobs, self.room)
        with ThreadPoolExecutor(max_workers=min(len(jobs), AT_ONCE)) as pool:
            return list(pool.map(lambda job: self._one(job, stop_ids), jobs))

    def _one(self, job: Job, stop_ids: Sequence[int]) -> Answer:
        body = {"model": self.model, "prompt": list(job.context), "return_token_ids": True, **parameters(job, stop_ids)}
        choice = self._ask("/v1/completions", body)["choices"][0]
        ids = choice.get("token_ids")
        if ids is None:
            raise HarnessError(f"{self.url} does not return token ids; it needs a vLLM that knows return_token_ids")
        return Answer(tuple(ids), tuple(float(value) for value in choice["logprobs"]["token_logprobs"]))

    def load(self, directory: Path) -> None:
        """Weights by path, then an empty prefix cache. HarnessError where the server keeps what it had cached."""
        self._ask("/collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": str(directory)}})
        if not self._ask("/reset_prefix_cache", {}).get("success", True):
            raise HarnessError(
                f"vLLM at {self.url} could not empty its prefix cache, which old weights filled; let nobody else use it"
            )

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
