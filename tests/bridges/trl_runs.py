"""TRL runs for tests: the embedded policy, two reward functions, 16 completions a step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig

from harness.policies import registry

EMBEDDED = Path(registry.__file__).parent / "embedded"
PROMPTS, GROUP, MAX = 4, 4, 12
ROWS = PROMPTS * GROUP


def digits(completions: list[str], **_: Any) -> list[float]:
    """The share of digits."""
    return [sum(map(str.isdigit, text)) / max(1, len(text)) for text in completions]


def even(completions: list[str], **_: Any) -> list[float | None]:
    """Whether the length is even; not applicable to very short ones."""
    return [float(len(text) % 2 == 0) if len(text) > 2 else None for text in completions]


class Grab(TrainerCallback):
    """The gradient before every optimizer step, and the weights that it is of."""

    def __init__(self) -> None:
        self.grads: list[dict[str, torch.Tensor]] = []
        self.weights: list[dict[str, torch.Tensor]] = []

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Copy them."""
        del args, state, control
        self.grads.append({name: parameter.grad.clone() for name, parameter in model.named_parameters()})
        self.weights.append({name: tensor.clone() for name, tensor in model.state_dict().items()})


def policy(noise: float = 0.0) -> Any:
    """The embedded policy; with noise it is no longer its own reference."""
    model = AutoModelForCausalLM.from_pretrained(EMBEDDED, dtype=torch.float32)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(noise * torch.randn(parameter.shape, generator=generator))
    return model


def trainer(cls: type, out: Path, *, noise: float = 0.05, cut: int = 1, steps: int = 1, **options: Any) -> Any:
    """A trainer that has not begun; `options` are GRPOConfig's, or the trainer's own where it knows them."""
    own = {
        name: options.pop(name)
        for name in ("stack", "without", "plugins", "correct", "correct_above", "rowwise", "measure", "eval_dataset")
        if name in options
    }
    settings: dict[str, Any] = {
        "per_device_train_batch_size": ROWS // cut, "gradient_accumulation_steps": cut, "num_generations": GROUP,
        "max_completion_length": MAX, "max_steps": steps, "learning_rate": 1e-3, "max_grad_norm": 0.0,
        "logging_steps": 1, "report_to": [], "save_strategy": "no", "use_cpu": True, "disable_tqdm": True,
        "gradient_checkpointing": False, "bf16": False, "reward_weights": [1.0, 0.5], "seed": 3,
    }  # fmt: skip
    grab = Grab()
    made = cls(
        model=policy(noise),
        reward_funcs=[digits, even],
        args=GRPOConfig(output_dir=str(out), **{**settings, **options}),
        processing_class=AutoTokenizer.from_pretrained(EMBEDDED, padding_side="left"),
        callbacks=[grab],
        train_dataset=Dataset.from_list([{"prompt": f"{10 + i}+{i}="} for i in range(32)]),
        **own,
    )
    made.grab = grab
    return made


def gradients(cls: type, out: Path, **options: Any) -> list[dict[str, torch.Tensor]]:
    """The gradients of all optimizer steps."""
    made = trainer(cls, out, **options)
    made.train()
    return made.grab.grads


def apart(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    """The largest difference, in units of the largest entry."""
    largest = max(float(x.abs().max()) for x in other.values())
    assert largest > 0
    return max(float((one[name] - x).abs().max()) for name, x in other.items()) / largest
