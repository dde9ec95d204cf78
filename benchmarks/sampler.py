"""Our sampler against `transformers` generate on the same weights and prompts, log-probabilities included.

    python benchmarks/sampler.py [--model embedded] [--prompts 32] [--group 8] [--repeats 7] [--threads 1]

Interleaved, CPU time, median; printed are ratios (generate / ours: above 1 we are faster) and what the lengths were.
Fixed lengths never stop; natural lengths end at the policy's own end token, at most 64 tokens.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from harness.errors import UsageError
from harness.policies.policy import Policy
from harness.policies.random import llama_policy
from harness.policies.rollouts import Request
from harness.policies.sampler import Sampler

LONGEST = 64


def load(name: str) -> tuple[Policy, str]:
    """The policy to measure, and what to call it; random weights of the reference shape where it is missing."""
    if name == "random":
        return llama_policy(layers=4, width=128), "random L4 d128"
    try:
        return Policy.load(name), name
    except UsageError:
        return llama_policy(layers=4, width=128), f"random L4 d128 ({name} is missing)"


def prompts(count: int) -> list[str]:
    draw = random.Random(0)
    return [f"{draw.randint(10, 50)}+{draw.randint(10, 50)}=" for _ in range(count)]


def ours(policy: Policy, texts: list[str], group: int, length: int, stops: tuple[int, ...]) -> Callable[[], Any]:
    requests = [
        Request(key=text, prompt_ids=tuple(policy.encode_prompt(text)), n=group, max_tokens=length) for text in texts
    ]
    sampler = Sampler(policy)

    def run() -> Any:
        policy.stop_ids, kept = stops, policy.stop_ids
        try:
            return sampler.generate(requests, seed=0, step=0)
        finally:
            policy.stop_ids = kept

    return run


def theirs(policy: Policy, texts: list[str], group: int, length: int, stops: tuple[int, ...]) -> Callable[[], Any]:
    rows = [policy.encode_prompt(text) for text in texts for _ in range(group)]
    width = max(map(len, rows))
    ids = torch.tensor([[policy.pad_id] * (width - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    arguments: dict[str, Any] = {
        "do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "max_new_tokens": length,
        "pad_token_id": policy.pad_id, "return_dict_in_generate": True, "output_logits": True,
    }  # fmt: skip
    arguments |= {"eos_token_id": list(stops)} if stops else {"suppress_tokens": list(policy.stop_ids)}

    @torch.inference_mode()
    def run() -> Any:
        out = policy.model.generate(input_ids=ids, attention_mask=mask, **arguments)
        logp = torch.log_softmax(torch.stack(out.logits, 1).float(), -1)
        chosen = out.sequences[:, width:]
        return chosen, logp.gather(2, chosen[..., None])[..., 0]

    return run


def measure(first: Callable[[], Any], second: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Median CPU seconds of both, taken in turns."""
    spent: tuple[list[float], list[float]] = ([], [])
    for turn in range(repeats + 1):
        for kept, call in zip(spent, (first, second), strict=True):
            start = time.process_time()
            call()
            if turn:  # the first round warms up
                kept.append(time.process_time() - start)
    return statistics.median(spent[0]), statistics.median(spent[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="embedded")
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--group", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    policy, name = load(options.model)
    texts = prompts(options.prompts)
    cases = {"fixed 16": (16, ()), "fixed 64": (64, ()), "natural": (LONGEST, policy.stop_ids)}
    result: dict[str, Any] = {"model": name, "params": policy.n_params, "rows": options.prompts * options.group}
    for case, (length, stops) in cases.items():
        run = ours(policy, texts, options.group, length, stops)
        a, b = measure(run, theirs(policy, texts, options.group, length, stops), options.repeats)
        rollouts = run()
        result[case] = {
            "generate / ours": round(b / a, 2),
            "mean length": round(float(rollouts.generated.float().mean()), 1),
            "longest": int(rollouts.generated.max()),
        }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
