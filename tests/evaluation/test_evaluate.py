"""One call for everything a trial reports: numbers that match the sampler and the scorers, and no side effect."""

import random

import numpy as np
import pytest
import torch

from harness.errors import HarnessError, UsageError
from harness.evaluation import evaluate
from harness.policies.rollouts import Request
from harness.policies.sampler import Sampler
from harness.tasks.base import Problem, Task
from harness.tasks.code import CodeTask
from harness.tasks.load import load_task
from harness.tasks.math import MathTask
from harness.training.config import EvaluationConfig

CONFIG = EvaluationConfig(problems=5, samples=3)


class Parity(Task):
    """A task that has no bundled file: right if the text has an even number of characters."""

    name = "parity-of: text"
    columns = ("even",)
    correct_column = "even"
    max_tokens = 5

    def __init__(self):
        self.reward_weights = {"even": 1.0}

    def problems(self, split, limit=None):
        return [Problem(f"parity:{split}:{i}", f"{i}=\n ", self.name, i) for i in range(20)][:limit]

    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        assert [p.task for p in problems] == [self.name] * len(texts)
        return {"even": np.array([float(len(text) % 2 == 0) for text in texts])}


def states():
    numpy = np.random.get_state()[1].tolist()  # noqa: NPY002
    return random.getstate(), numpy, torch.get_rng_state().tolist()


def test_random_states_are_left_alone(embedded, sandbox):
    random.seed(3)
    np.random.seed(4)  # noqa: NPY002
    torch.manual_seed(5)
    before = states()
    evaluate(embedded, ["math", "code"], EvaluationConfig(problems=2, samples=1), seed=0, sandbox=sandbox)
    assert states() == before


def test_random_states_are_left_alone_when_it_fails(embedded):
    before = states()

    class Failing(Parity):
        def score_texts(self, *arguments, **options):
            random.random()
            torch.rand(1)
            raise RuntimeError("scorer")

    with pytest.raises(RuntimeError, match="scorer"):
        evaluate(embedded, [Failing()], CONFIG, seed=0)
    assert states() == before


def expected(policy, task, config, seed, sandbox=None):
    """The same numbers without lm-eval, a problem at a time."""
    rows = []
    for problem in task.problems(config.split, config.problems):
        ids = tuple(policy.encode_prompt(problem.prompt))
        limit = config.max_tokens or task.max_tokens
        requests = [
            Request(problem.key, ids, 1, max_tokens=limit, greedy=True),
            Request(problem.key, ids, config.samples, temperature=config.temperature, max_tokens=limit),
        ]
        out = Sampler(policy).generate(requests, seed=seed, step=0, stream="evaluation")
        columns = task.score_texts([problem] * len(out), out.texts, out.truncated.tolist(), sandbox=sandbox)
        right = task.correct(columns)
        lengths, cut = out.lengths[1:].float(), out.truncated[1:].float()
        rows.append([right[0], right[1:].mean(), right[1:].any(), lengths.mean(), cut.mean()])
    return np.array(rows, dtype=float).mean(0)


@pytest.mark.parametrize("task", [MathTask(), CodeTask(), Parity()], ids=lambda task: task.name)
def test_the_numbers_are_those_of_sampler_and_scorer(embedded, sandbox, task):
    config = EvaluationConfig(problems=5, samples=3, temperature=0.8, batch=7)
    row = evaluate(embedded, [task], config, seed=2, sandbox=sandbox).tasks[task.name]
    found = [row[name] for name in ("accuracy", "pass_at_1", "pass_at_k", "length", "truncated")]
    assert found == pytest.approx(expected(embedded, task, config, 2, sandbox))
    assert (row["k"], row["problems"]) == (3, 5)


def test_it_repeats_and_only_the_seed_moves_the_samples(embedded):
    first, again, other = (evaluate(embedded, ["math"], CONFIG, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert [i["greedy"] for i in first.items] == [i["greedy"] for i in other.items]
    assert [e["text"] for e in first.examples] != [e["text"] for e in other.examples]


def test_batch_size_and_the_other_tasks_change_nothing(embedded, sandbox):
    alone = evaluate(embedded, ["math"], CONFIG, seed=0).tasks["math"]
    config = CONFIG.model_copy(update={"batch": 1})
    assert evaluate(embedded, ["code", "math"], config, seed=0, sandbox=sandbox).tasks["math"] == alone


def test_a_problem_has_the_same_samples_whichever_are_asked_with_it(embedded):
    few = evaluate(embedded, ["math"], CONFIG.model_copy(update={"problems": 3}), seed=0)
    assert few.items == evaluate(embedded, ["math"], CONFIG, seed=0).items[:3]


def test_items_add_up_to_the_rates(embedded, sandbox):
    report = evaluate(embedded, ["math", "code"], CONFIG, seed=0, sandbox=sandbox)
    assert len(report.items) == 10
    for name, row in report.tasks.items():
        mine = [item for item in report.items if item["task"] == name]
        assert [item["key"] for item in mine] == [p.key for p in load_task(name).problems("test", 5)]
        assert row["accuracy"] == pytest.approx(np.mean([item["greedy"] for item in mine]))
        assert row["pass_at_1"] == pytest.approx(np.mean([item["correct_samples"] / 3 for item in mine]))
        assert row["pass_at_k"] == pytest.approx(np.mean([item["correct_samples"] > 0 for item in mine]))
    assert report.score == pytest.approx(np.mean([row["pass_at_1"] for row in report.tasks.values()]))
    about = {"task", "key", "prompt", "text", "answer", "correct", "reward", "tokens", "truncated"}
    assert about == set(report.examples[0])


def test_items_keep_the_greedy_answer_shortened(embedded, monkeypatch):
    whole = evaluate(embedded, ["math"], CONFIG, seed=0)
    said = {item["key"]: item["text"] for item in whole.items}
    shown = {example["key"]: example["text"] for example in reversed(whole.examples)}  # the greedy one comes first
    assert {key: said[key] for key in shown} == shown
    monkeypatch.setattr("harness.evaluation.scoring.LONGEST", 3)
    cut = [item["text"] for item in evaluate(embedded, ["math"], CONFIG, seed=0).items]
    assert [text[:2] for text in cut] == [item["text"][:2] for item in whole.items]
    assert max(map(len, cut)) == 3


def test_prompts_reach_the_model_as_the_task_wrote_them(embedded):
    report = evaluate(embedded, [Parity()], CONFIG, seed=0)
    assert report.examples[0]["prompt"] == "0=\n "


def test_validation_split_and_length_limit(embedded):
    config = EvaluationConfig(problems=4, samples=1, split="validation", max_tokens=2)
    report = evaluate(embedded, [Parity()], config, seed=0)
    assert report.items[0]["key"] == "parity:validation:0"
    assert report.tasks[Parity.name]["length"] <= 2
    assert evaluate(embedded, ["math"], config, seed=0).tasks["math"]["truncated"] > 0.5


def test_k_below_and_above_the_samples(embedded):
    report = evaluate(embedded, [Parity()], CONFIG, seed=0, k=1)
    row = report.tasks[Parity.name]
    assert row["pass_at_k"] == row["pass_at_1"]
    with pytest.raises(UsageError, match="pass@4 needs at least 4 samples a problem and got 3"):
        evaluate(embedded, ["math"], CONFIG, seed=0, k=4)


def test_unknown_and_repeated_tasks(embedded):
    with pytest.raises(UsageError, match="math"):
        evaluate(embedded, ["maths"], CONFIG, seed=0)
    with pytest.raises(UsageError, match="distinct"):
        evaluate(embedded, ["math", MathTask()], CONFIG, seed=0)
    with pytest.raises(UsageError, match="distinct"):
        evaluate(embedded, [], CONFIG, seed=0)


def test_a_code_task_without_a_sandbox_starts_one_or_says_why_not(embedded, monkeypatch):
    from harness.tasks.sandbox import client

    monkeypatch.setattr(client, "BOOT", "raise SystemExit(3)")
    with pytest.raises(HarnessError, match="--sandbox limits"):
        evaluate(embedded, ["code"], CONFIG, seed=0)


def test_nothing_is_printed(embedded, capfd):
    evaluate(embedded, ["math"], CONFIG, seed=0)
    assert capfd.readouterr() == ("", "")


def test_an_untrained_policy_without_an_end_token_is_all_truncated(tiny):
    row = evaluate(tiny, ["math"], EvaluationConfig(problems=3, samples=1, max_tokens=1), seed=0).tasks["math"]
    assert row["length"] == 1
    assert row["accuracy"] == 0
