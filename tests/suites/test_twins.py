"""Suites for models that are not here, at toy size: two layers of random weights, a few rows, three steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import HarnessError
from harness.policies.policy import Policy
from harness.suites import Suite, trials
from harness.training.config import TrialConfig
from harness.training.trial import run_trial
from tests.engines.test_sampler import Twin
from tests.policies.networks import network

GENERATED = {"reasoning-gym", "python-functions"}  # nothing to be downloaded
NEEDS = {"smollm2": ("reasoning_gym", "peft"), "qwen-7b": ("peft",)}
TWINS = Path(__file__).parent / "twins"
CHATML = (
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Qwen2 of two layers with a chat template."""
    from harness.policies.random import tiny_policy

    tokenizer = tiny_policy().tokenizer
    tokenizer.chat_template = CHATML
    folder = tmp_path_factory.mktemp("qwen")
    Policy(network("qwen2", max_position_embeddings=512), tokenizer).save(folder)
    return folder


def rows(folder: Path, name: str) -> dict[str, Any]:
    """Forty rows with the columns of a data set, as options of its task."""
    made: list[dict[str, Any]] = []
    for n in range(40):
        if name == "gsm8k":
            made.append({"question": f"Tom has {n} pens and buys {n + 3}. How many?", "answer": f"#### {2 * n + 3}"})
        elif name == "mbpp":
            tests = [f"assert add(1) == {n + 1}", f"assert add(0) == {n}", f"assert add(5) == {n + 5}"]
            code = f"def add(x):\n    return x + {n}"
            made.append({
                "task_id": n, "text": f"Write a function to add {n}.", "code": code, "test_list": tests,
                "test_setup_code": "", "challenge_test_list": [],
            })  # fmt: skip
        else:
            made.append({
                "prompt": [{"role": "user", "content": f"What is {n} times 7?"}],
                "reward_model": {"ground_truth": str(7 * n), "style": "rule"}, "data_source": "toy", "ability": "MATH",
            })  # fmt: skip
    paths = {}
    for split, part in (("train", made[:30]), ("test", made[30:])):
        paths[split] = str(folder / f"{name}-{split}.jsonl")
        Path(paths[split]).write_text("".join(json.dumps(row) + "\n" for row in part), encoding="utf-8")
    return {"files": paths}


def config_of(name: str, model: Path, folder: Path) -> TrialConfig:
    """The baseline's trial of a twin, with rows in place of the hub's."""
    tasks = []
    for share in Suite.load(TWINS / f"{name}.yaml", [f"policy.model={model}"]).tasks:
        options = dict(share.options) if share.task in GENERATED else rows(folder, share.task)
        tasks.append({"task": share.task, "share": share.share, "options": options})
    suite = Suite.load(TWINS / f"{name}.yaml", [f"policy.model={model}"], {"tasks": tasks})
    (config,) = trials(suite)
    return config


@pytest.mark.parametrize("name", sorted(file.stem for file in TWINS.glob("*.yaml")))
def test_a_twin_trains_three_steps(name: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package)
    monkeypatch.setattr("harness.engines.vllm.start", lambda directory, policy, settings: Twin(directory))
    from harness.evaluation import evaluate

    config = config_of(name, model, tmp_path)
    result = run_trial(config, tmp_path / "trial", evaluate=evaluate)
    assert (result.status, result.error) == ("done", None)
    records = [json.loads(line) for line in (tmp_path / "trial" / "metrics.jsonl").read_text().splitlines()]
    updates = config.learner.minibatches * config.learner.updates_per_batch
    assert len(records) == 12 // updates
    assert all(record["rollouts"] == 16 for record in records)
    evaluations = (tmp_path / "trial" / "evaluations.jsonl").read_text().splitlines()
    assert len(evaluations) == 2
    found = {name.partition(":")[0] for name in json.loads(evaluations[-1])["tasks"]}  # a generator behind the colon
    assert found == {share.task for share in config.tasks}


def test_a_twin_is_the_suite_itself_but_for_its_size() -> None:
    """What a twin leaves alone is what the suite says: objective, rates, chat, data type, engine."""
    for file in TWINS.glob("*.yaml"):
        twin, suite = Suite.load(file), Suite.load(file.stem)
        assert twin.policy.dtype == suite.policy.dtype
        assert twin.policy.gradient_checkpointing == suite.policy.gradient_checkpointing
        assert twin.learner.minibatches == suite.learner.minibatches
        assert twin.optimizer == suite.optimizer
        assert twin.sampler.engine == suite.sampler.engine
        assert twin.baseline == suite.baseline
        assert [share.task for share in twin.tasks] == [share.task for share in suite.tasks]


def test_without_the_data_one_line_says_what_to_do(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    suite = Suite.load(TWINS / "qwen-0.5b.yaml", [f"policy.model={model}"])
    from harness.tasks.load import load_task

    with pytest.raises(HarnessError, match=r"gsm8k.*cannot be read"):
        load_task(suite.tasks[0].task).problems("train")
