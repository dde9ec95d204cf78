"""Does the harness compute rightly and fast on this GPU? Needs torch and transformers only; under six minutes.

Random weights in the shapes of known models. Checked: log-probabilities and gradients in bfloat16 against float32, and
the sampler's log-probabilities, from its cache, against whole passes. Measured: tokens a second while sampling, seconds
and memory of a GRPO step (sample 8 x 8 completions, score, one update). Prints a table, then one JSON line.

    python benchmarks/gpu_check.py [--sizes 0.1B 0.5B 1.5B] [--json FILE]
    python benchmarks/gpu_check.py --toy        # seconds, on any CPU
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.batch import Batch, PolicyOutput, PromptRecord
from harness.budget import Budget, Ledger
from harness.policies.chars import char_tokenizer
from harness.policies.policy import Policy
from harness.policies.random import CHARACTERS
from harness.policies.rollouts import Request, Rollouts
from harness.policies.sampler import Sampler
from harness.training.learner import Learner

SHAPES = {  # hidden, inner, layers, heads, key-value heads, vocabulary
    "toy": (64, 128, 2, 4, 2, 300),
    "0.1B": (576, 1536, 30, 9, 3, 49152),  # SmolLM2-135M
    "0.5B": (896, 4864, 24, 14, 2, 151936),  # Qwen2.5-0.5B
    "1.5B": (1536, 8960, 28, 12, 2, 151936),  # Qwen2.5-1.5B
}
LEAST_COSINE = 0.99  # of the gradients in bfloat16 and in float32
MOST_GAP = 0.1  # mean |log-probability| difference of the two, in nats
MOST_SAMPLER_GAP = 1e-3  # mean |log-probability| difference of the sampler's cache and a whole pass, in float32
PROMPTS, GROUP = 8, 8


class Grpo:
    """What the learner asks of a stack: the clipped objective, each completion weighed alike. GRPO without its KL."""

    def aggregate(self, *, batch: Batch) -> Tensor:
        """[N, T] 1 / (N tokens of the row)."""
        return batch.mask / (len(batch) * batch.mask.sum(1, keepdim=True).clamp(min=1))

    def loss(self, *, batch: Batch, output: PolicyOutput) -> Tensor:
        """The clipped surrogate (arXiv 1707.06347)."""
        ratio = (output.logp - output.logp_old).exp()
        assert batch.advantages is not None
        assert batch.weights is not None
        gain = torch.minimum(ratio * batch.advantages, ratio.clamp(0.8, 1.2) * batch.advantages)
        return -(gain * batch.weights).sum()

    def penalty(self, *, batch: Batch, output: PolicyOutput) -> None:
        """No regularizer."""


def policy_of(size: str, dtype: str, device: str) -> Policy:
    """Random weights in a known shape; completions never end before their limit."""
    from transformers import LlamaConfig, LlamaForCausalLM

    hidden, inner, layers, heads, kv_heads, vocabulary = SHAPES[size]
    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=kv_heads, max_position_embeddings=4096, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, tie_word_embeddings=True,
    )  # fmt: skip
    torch.manual_seed(0)
    with torch.device(device):
        model = LlamaForCausalLM(config)
    policy = Policy(model, char_tokenizer(CHARACTERS), precision=dtype, device=device)
    policy.stop_ids = ()
    return policy


def sample(policy: Policy, prompts: int, group: int, prompt: int, new: int) -> Rollouts:
    """Completions of `new` tokens to prompts of `prompt` tokens."""
    ids = torch.randint(3, SHAPES["toy"][-1], (prompts, prompt), generator=torch.Generator().manual_seed(1)).tolist()
    requests = [Request(f"p{i}", tuple(row), group, max_tokens=new) for i, row in enumerate(ids)]
    return Sampler(policy).generate(requests, seed=0, step=0)


def batch_of(rollouts: Rollouts) -> Batch:
    """Rollouts with random rewards and their group z-scores."""
    n, device = len(rollouts), rollouts.mask.device
    rewards = torch.rand(n, generator=torch.Generator().manual_seed(2)).to(device, rollouts.logp.dtype)
    grouped = rewards.view(-1, n // len(rollouts.requests))
    scores = (grouped - grouped.mean(1, keepdim=True)) / grouped.std(1, keepdim=True)
    zeros = torch.zeros(n, dtype=torch.long, device=device)
    return Batch(
        prompt_ids=rollouts.prompt_ids, prompt_mask=rollouts.prompt_mask, completion_ids=rollouts.completion_ids,
        mask=rollouts.mask, logp_sampler=rollouts.logp, prompt=rollouts.index, rollout=rollouts.rollout, round=zeros,
        age=zeros, rewards=rewards[:, None], reward_names=("random",), reward_weights=rewards.new_ones(1),
        correct=rewards > 1, lengths=rollouts.lengths, truncated=rollouts.truncated, temperature=rollouts.temperature,
        max_tokens=rollouts.mask.shape[1], prompts=tuple(PromptRecord(r.key, "", "random") for r in rollouts.requests),
        group_keys=rollouts.index, kept=rewards >= 0, advantages=scores.reshape(n, 1),
    )  # fmt: skip


def learner_of(policy: Policy, micro_batch: int = 16) -> Learner:
    """A learner with one minibatch a batch."""
    config = SimpleNamespace(minibatches=1, updates_per_batch=1, micro_batch=micro_batch, max_grad_norm=1.0)
    optimizer = SimpleNamespace(lr=1e-6, betas=(0.9, 0.95), weight_decay=0.0, eps=1e-8)
    learner = Learner(policy, config, optimizer, Ledger(Budget(compute=1e18)))  # type: ignore[arg-type]
    learner.hooks = Grpo()
    return learner


def gradient_and_logp(size: str, dtype: str, device: str, rollouts: Rollouts) -> tuple[Tensor, Tensor]:
    """[P] and [N, T] of the same completions, on the CPU."""
    policy = policy_of(size, dtype, device)
    learner = learner_of(policy)
    learner.begin()
    learner.backward(batch_of(rollouts))
    assert learner.logp_start is not None
    return learner.gradient().float().cpu(), learner.logp_start[1].float().cpu()


def correctness(size: str, device: str, new: int) -> dict[str, Any]:
    """bfloat16 against float32 on one batch, and the cache of the sampler against passes without one."""
    exact = policy_of(size, "float32", device)
    rollouts = sample(exact, 2, 4, prompt=16, new=new)
    (want, logp), (got, rough) = (gradient_and_logp(size, dtype, device, rollouts) for dtype in ("float32", "bfloat16"))
    cosine = float(torch.nn.functional.cosine_similarity(want.double(), got.double(), dim=0))
    found = {
        "gradient_cosine": cosine,
        "gradient_norm_ratio": float(got.norm() / want.norm()),
        "logp_gap": float((logp - rough).abs().mean()),
        "sampler_gap": float((logp - rollouts.logp.float().cpu()).abs().mean()),
    }
    found["passed"] = (
        cosine >= LEAST_COSINE and found["logp_gap"] <= MOST_GAP and found["sampler_gap"] <= MOST_SAMPLER_GAP
    )
    return found


def timed(run: Callable[[], Any], device: str) -> tuple[float, Any]:
    """Seconds until the device is done, and what came back."""
    if device == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    result = run()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began, result


def speed(size: str, device: str, prompt: int, new: int, repeats: int) -> dict[str, Any]:
    """Sampling, scoring and updating in bfloat16; the first round warms up, the fastest counts."""
    policy = policy_of(size, "bfloat16", device)
    learner = learner_of(policy)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    rounds = []
    for _ in range(repeats + 1):
        sampling, rollouts = timed(lambda: sample(policy, PROMPTS, GROUP, prompt, new), device)
        batch = batch_of(rollouts)
        learner.begin()
        updating, _ = timed(lambda b=batch: (learner.backward(b), learner.step()), device)
        rounds.append((sampling + updating, sampling, updating))
    total, sampling, updating = min(rounds[1:])
    rows = PROMPTS * GROUP
    return {
        "parameters": policy.n_params,
        "tokens_per_second": rows * new / sampling,
        "sample_seconds": sampling,
        "update_seconds": updating,
        "step_seconds": total,
        "trained_tokens_per_second": rows * (prompt + new) / updating,
        "memory_gib": torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else None,
    }


def main(arguments: list[str] | None = None) -> int:
    """0 where everything that is checked holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="*", choices=list(SHAPES), default=["0.1B", "0.5B", "1.5B"])
    parser.add_argument("--toy", action="store_true", help="a two-layer model and few tokens")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", type=Path, default=None, help="write the figures there too")
    options = parser.parse_args(arguments)
    if options.device == "cpu" and not options.toy:
        parser.error("there is no CUDA GPU here; --toy runs on the CPU")
    sizes, lengths, repeats = (["toy"], (8, 8), 1) if options.toy else (options.sizes, (128, 256), 2)
    device = torch.cuda.get_device_name() if options.device == "cuda" else platform.processor() or platform.machine()
    found: dict[str, Any] = {"device": device, "torch": torch.__version__, "correctness": {}, "speed": {}}
    for size in sizes:
        found["correctness"][size] = checked = correctness(size, options.device, new=min(lengths[1], 64))
        print(f"{size}: " + ", ".join(f"{name} {value:.4g}" for name, value in checked.items()), flush=True)
        found["speed"][size] = measured = speed(size, options.device, *lengths, repeats)
        print(f"{size}: " + ", ".join(f"{k} {v:.4g}" for k, v in measured.items() if v is not None), flush=True)
    passed = all(checked["passed"] for checked in found["correctness"].values())
    print(json.dumps(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
