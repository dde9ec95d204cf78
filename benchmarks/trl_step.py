"""TRL's GRPOTrainer on the checkpoint and the reward of `step.py`; run in an environment that has TRL.

    python benchmarks/trl_step.py DIR --new 16 --steps 7 --endless

Prints a JSON line: median CPU seconds of an optimizer step (32 prompts x 8, one pass, float32, no checkpointing of
activations, no KL), and mean completion length.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

for variable, value in {
    "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_WAIT_POLICY": "PASSIVE",
}.items():  # fmt: skip
    os.environ.setdefault(variable, value)
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for the math task, which needs numpy alone

import torch  # noqa: E402 - after the environment is set
from datasets import Dataset  # noqa: E402
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

PROMPTS, GROUP, WARM = 32, 8, 2


class Clock(TrainerCallback):
    """CPU seconds at the end of every step."""

    def __init__(self) -> None:
        self.marks: list[float] = []

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Note the time."""
        self.marks.append(time.process_time())


def problems(name: str, count: int) -> tuple[list[str], Any]:
    """Prompts, and the reward function of TRL's signature."""
    if name == "digits":
        texts = [f"{10 + i % 89}+{10 + i // 89 % 89}=" for i in range(count)]
        return texts, lambda completions, **_: [sum(map(str.isdigit, text)) / max(1, len(text)) for text in completions]
    from harness.tasks.math import MathTask

    task = MathTask()
    found = {problem.prompt: problem for problem in task.problems("train", count)}

    def reward(prompts: list[str], completions: list[str], **_: Any) -> list[float]:
        columns = task.score_texts([found[p] for p in prompts], completions, [False] * len(completions))
        return sum(task.reward_weights[name] * values for name, values in columns.items()).tolist()

    return list(found), reward


def main() -> None:
    """Train for a few steps and say how long one took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--new", type=int, default=16)
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--task", choices=["digits", "math"], default="digits")
    parser.add_argument("--endless", action="store_true", help="no completion ends before --new tokens")
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(options.directory, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(options.directory, padding_side="left")
    if options.endless:
        model.generation_config.suppress_tokens = [tokenizer.eos_token_id]
    steps = options.steps + WARM
    texts, score = problems(options.task, PROMPTS * (steps + 1))
    lengths: list[int] = []

    def reward(prompts: list[str], completions: list[str], completion_ids: Any = None, **_: Any) -> list[float]:
        lengths.extend(map(len, completion_ids))
        return score(prompts=prompts, completions=completions)

    with tempfile.TemporaryDirectory() as out:
        settings = GRPOConfig(
            output_dir=out, per_device_train_batch_size=PROMPTS * GROUP, gradient_accumulation_steps=1,
            num_generations=GROUP, max_completion_length=options.new, max_steps=steps, learning_rate=1e-4, beta=0.0,
            loss_type="dapo", temperature=1.0, logging_steps=1000, report_to=[], save_strategy="no", use_cpu=True,
            gradient_checkpointing=False, disable_tqdm=True, bf16=False, fp16=False, lr_scheduler_type="constant",
        )  # fmt: skip
        clock = Clock()
        trainer = GRPOTrainer(
            model=model, reward_funcs=reward, args=settings, processing_class=tokenizer, callbacks=[clock],
            train_dataset=Dataset.from_list([{"prompt": text} for text in texts]),
        )  # fmt: skip
        trainer.train()
    took = [end - begin for begin, end in zip(clock.marks, clock.marks[1:], strict=False)][WARM - 1 :]
    mean = statistics.mean(lengths)
    print(json.dumps({"cpu_seconds": round(statistics.median(took), 4), "mean_length": round(mean, 1)}))


if __name__ == "__main__":
    main()
