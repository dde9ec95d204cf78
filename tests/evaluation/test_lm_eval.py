"""The model as lm-eval sees it, our files under lm-eval's own evaluator, and other people's task files."""

import functools
import json
import random

import lm_eval
import numpy as np
import pytest
import torch
from lm_eval.api.instance import Instance
from lm_eval.tasks import TaskManager

from harness.errors import HarnessError, UsageError
from harness.evaluation import external
from harness.evaluation.bundled import TASK_FILES
from harness.evaluation.external import evaluate_external
from harness.evaluation.model import PolicyLM
from harness.evaluation.quiet import silent


@pytest.fixture
def model(tiny):
    return PolicyLM(tiny, seed=0, batch=3)


def instance(kind, *arguments, doc_id=0, task="t"):
    return Instance(request_type=kind, doc={}, arguments=arguments, idx=0, metadata=(task, doc_id, 1))


# -- the model ---------------------------------------------------------------------------------------------------


def test_log_likelihoods_are_the_models(tiny, model):
    pairs = [("12+3=", "15"), ("a", "b c"), ("x", "9"), ("long context, ", "and a longer answer"), ("", "q")]
    results = model.loglikelihood([instance("loglikelihood", *pair) for pair in pairs])
    for (given, asked), (total, greedy) in zip(pairs, results, strict=True):
        context = given.rstrip()
        continuation = given[len(context) :] + asked
        prompt, ids = tiny.encode_prompt(context), tiny.encode(continuation)
        with torch.no_grad():
            logits = tiny.model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1].log_softmax(-1)
        assert total == pytest.approx(logits.gather(1, torch.tensor(ids)[:, None]).sum().item(), abs=1e-4)
        assert greedy == (logits.argmax(-1).tolist() == ids)


def test_the_greedy_text_is_said_to_be_greedy(tiny, model):
    text = model.generate_until([instance("generate_until", "12=", {"until": [], "max_gen_toks": 4})])[0]
    assert model.loglikelihood([instance("loglikelihood", "12=", str(text))])[0][1]


def test_rolling_likelihood_counts_every_token_once(tiny, model):
    text = "the whole of a text"
    total = model.loglikelihood_rolling([instance("loglikelihood_rolling", text)])[0]
    ids = tiny.encode(text)
    with torch.no_grad():
        logits = tiny.model(torch.tensor([tiny.encode_prompt("") + ids])).logits[0, :-1].log_softmax(-1)
    assert total == pytest.approx(logits.gather(1, torch.tensor(ids)[:, None]).sum().item(), abs=1e-4)


def test_a_long_context_keeps_its_end(tiny, model):
    long = "x" * 2000
    value, _ = model.loglikelihood([instance("loglikelihood", long, "7")])[0]
    assert np.isfinite(value)


def test_stop_texts_cut_and_are_not_truncation(model):
    options = {"until": [], "max_gen_toks": 12}
    whole = model.generate_until([instance("generate_until", "5*5=", options)])[0]
    stop = whole[2:4]
    cut = model.generate_until([instance("generate_until", "5*5=", options | {"until": ["never", stop]})])[0]
    assert cut == whole[: whole.index(stop)]
    assert not cut.truncated
    assert model.generate_until([instance("generate_until", "5*5=", options | {"until": stop})])[0] == cut


def test_repeats_are_samples_only_where_the_task_samples(model):
    greedy = instance("generate_until", "12=", {"until": [], "max_gen_toks": 6})
    sampled = instance("generate_until", "12=", {"until": [], "max_gen_toks": 6, "temperature": 1.0}, doc_id=1)
    texts = model.generate_until([greedy, greedy, sampled, sampled, sampled])
    assert texts[0] == texts[1]
    assert len(set(texts[2:])) > 1


# -- our files under lm-eval -------------------------------------------------------------------------------------


def test_the_files_stand_alone(embedded):
    tasks = TaskManager(include_path=str(TASK_FILES), include_defaults=False).load(["harness_math", "harness_code"])
    lm = PolicyLM(embedded, seed=0)
    with silent():
        results = lm_eval.evaluate(lm=lm, task_dict=tasks, limit=3, bootstrap_iters=0, log_samples=True)
    for name in ("harness_math", "harness_code"):
        assert {"accuracy,scored", "pass_at_1,scored", "pass_at_k,scored"} <= set(results["results"][name])
        samples = results["samples"][name]
        assert len(samples) == 3
        assert len(samples[0]["resps"][0]) == 5


# -- other people's files ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    rows = [{"question": f"{i}+1=", "answer": str(i + 1)} for i in range(6)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    common = (
        f"dataset_path: json\ndataset_kwargs: {{data_files: {{test: {tmp_path}/data.jsonl}}}}\n"
        "test_split: test\ndoc_to_text: question\n"
    )
    (tmp_path / "sums.yaml").write_text(
        f"task: sums\n{common}doc_to_target: answer\noutput_type: generate_until\n"
        "generation_kwargs: {until: ['x'], max_gen_toks: 3}\n"
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


@pytest.mark.filterwarnings("ignore")
def test_any_task_file_runs(tiny, folder):
    random.seed(0)
    before = random.getstate(), torch.get_rng_state().tolist()
    measures = evaluate_external(tiny, ["sums", "choice"], limit=4, include=folder)
    assert (random.getstate(), torch.get_rng_state().tolist()) == before
    found = {(m.task, m.metric): m for m in measures}
    assert found["sums", "exact_match"].problems == 4
    assert 0 <= found["choice", "acc"].value <= 1


@pytest.mark.filterwarnings("ignore")
def test_what_runs_code_here_is_refused(tiny, folder):
    with pytest.raises(HarnessError, match="never does"):
        evaluate_external(tiny, ["unsafe"], include=folder)


@pytest.mark.filterwarnings("ignore")
def test_data_out_of_reach_is_one_line(tiny, folder):
    with pytest.raises(HarnessError, match=r"'far': its data cannot be reached.*nobody/nothing.*HF_HOME") as raised:
        evaluate_external(tiny, ["far"], include=folder)
    assert "\n" not in str(raised.value)


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
        external.evaluate_external(tiny, ["mth"], known=["math"])
    assert managers == [False, True, True]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")
def test_names_of_lm_eval_itself(tiny, monkeypatch):
    monkeypatch.setattr("lm_eval.tasks.TaskManager", functools.cache(TaskManager))  # reading 14,000 names takes long
    with pytest.raises(HarnessError, match="'gsm8k': its data cannot be reached"):
        evaluate_external(tiny, ["gsm8k"])
    with pytest.raises(HarnessError, match="'humaneval'"):
        evaluate_external(tiny, ["humaneval"])
    with pytest.raises(UsageError, match="gsm8k"):
        evaluate_external(tiny, ["gsm8kk"])
