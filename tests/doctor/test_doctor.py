"""The doctor finds what is missing before anything runs, and says what to do."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest

from harness.cli import main
from harness.doctor import machine, measure
from harness.doctor.findings import FIX, OK, WARN, Finding, guarded
from harness.doctor.measure import Outcome, largest_that_fits
from harness.doctor.suite import SuiteChecks
from harness.errors import HarnessError
from harness.policies.random import tiny_policy
from harness.suites.expand import trials
from harness.suites.schema import Suite


@pytest.fixture
def model(tmp_path):
    tiny_policy().save(tmp_path / "model")
    return str(tmp_path / "model")


def suite(model, **changes):
    small = {
        "name": "small", "policy": {"model": model}, "tasks": [{"task": "math"}], "seeds": 1, "honesty": [],
        "sampling": {"prompts": 4, "group_size": 4, "max_tokens": 8}, "learner": {"micro_batch": 8},
        "budget": {"compute": 100_000}, "evaluation": {"batch": 8}, "methods": ["grpo(beta=0.1)"],
    }  # fmt: skip
    return Suite.model_validate({**small, **changes})


def found(checks, name):
    return list(guarded(checks.checks()[name], name))


def outcome(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code, capsys.readouterr().out


def test_the_machine(capsys, tmp_path):
    code, out = outcome(capsys, "doctor", "--out", str(tmp_path))
    assert code in {0, 1}
    subjects = (
        "harness",
        "versions",
        "extras",
        "module",
        "cores",
        "threads",
        "device",
        "methods",
        "sandbox",
        "store",
        "disk",
    )
    for subject in subjects:
        assert re.search(rf"^(ok|warn|fix) +{subject} ", out, re.MULTILINE), subject


def test_a_second_provider_of_the_module(monkeypatch):
    monkeypatch.setattr("importlib.metadata.packages_distributions", lambda: {"harness": ["policy-harness", "other"]})
    assert [(one.mark, "other also provides" in one.text) for one in machine.modules()] == [(FIX, True)]


def test_a_broken_check_is_a_finding():
    def broken():
        raise RuntimeError("no\nway")
        yield

    assert list(guarded(broken)) == [Finding(FIX, "check", "RuntimeError: no way")]


def test_a_suite_that_is_fine(model, tmp_path):
    checks = SuiteChecks(suite(model), tmp_path, workers=1)
    for name in ("suite", "model", "tasks", "prompts", "sandbox", "budget", "disk", "memory"):
        assert all(one.mark == OK for one in found(checks, name)), name
    assert "2 trials, 1 at a time" in found(checks, "suite")[0].text
    assert "plain prompts; the longest has 13 tokens" in found(checks, "prompts")[0].text


@pytest.mark.parametrize(
    "case",
    [
        ({"policy": {"model": "owner/name"}}, "model", FIX, "harness models add owner/name"),
        ({"tasks": [{"task": "maths"}]}, "tasks", FIX, "math"),
        ({"sampling": {"max_tokens": 500}}, "prompts", FIX, "set sampling.max_tokens to 499 at most"),
        ({"budget": {"compute": 10}}, "budget", FIX, "give at least --budget"),
        ({"reward_weights": {"corect": 1.0}}, "sandbox", FIX, "Did you mean 'correct'"),
        ({"policy": {"device": "cuda"}}, "extras", FIX, "torch sees no CUDA here"),
        ({"policy": {"compile": True, "gradient_checkpointing": True}}, "extras", FIX, "exclude each other"),
        ({"limits": {"memory": "64MiB"}}, "memory", WARN, "limits.memory is 64MiB"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found_where_it_is(model, tmp_path, monkeypatch, case):
    changes, check, mark, text = case
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    if "policy" in changes:
        changes = {**changes, "policy": {"model": model, **changes["policy"]}}
    findings = found(SuiteChecks(suite(model, **changes), tmp_path), check)
    assert any(one.mark == mark and text in one.text for one in findings), findings


def test_an_extra_that_is_missing(model, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    checks = SuiteChecks(suite(model, policy={"model": model, "lora": {}}), tmp_path)
    assert found(checks, "extras") == [
        Finding(FIX, "extras", "policy.lora needs an extra: pip install 'policy-harness[lora]'")
    ]


def test_an_engine_that_is_missing(model, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    (finding,) = found(SuiteChecks(suite(model, sampler={"engine": "vllm"}), tmp_path), "extras")
    assert (finding.mark, finding.subject) == (FIX, "extras")
    assert "pip install 'policy-harness[vllm]'" in finding.text
    served = {"engine": "vllm", "vllm": {"server": "http://127.0.0.1:8000"}}
    assert found(SuiteChecks(suite(model, sampler=served), tmp_path), "extras") == []


def test_a_server_that_samples_answers(model, tmp_path, monkeypatch):
    def asked(at):
        served = {"engine": "vllm", "vllm": {"server": at}}
        (finding,) = found(SuiteChecks(suite(model, sampler=served), tmp_path), "server")
        return finding.mark, finding.text

    mark, text = asked("http://127.0.0.1:1")
    assert mark == FIX
    assert "vLLM at http://127.0.0.1:1 does not answer" in text
    served = {"data": [{"id": "a-model", "max_model_len": 4096}]}
    monkeypatch.setattr("harness.engines.server.Server._ask", lambda *_: served)
    assert asked("http://127.0.0.1:1") == (
        OK,
        "http://127.0.0.1:1 serves a-model, 4096 tokens of prompt and completion",
    )
    assert found(SuiteChecks(suite(model), tmp_path), "server") == []


def test_faults_of_data_are_told_under_tasks_and_rows_left_out_are_counted(model, tmp_path):
    rows = [{"question": f"{i}+1=", "answer": i + 1 if i else "one"} for i in range(30)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = {"name": "sums", "files": {"train": str(tmp_path / "rows.jsonl")}}
    checks = SuiteChecks(suite(model, tasks=[{"task": "dataset", "options": options}]), tmp_path)
    told = [(one.mark, one.text) for one in found(checks, "tasks")]
    assert told[1] == (WARN, "sums: of 30 rows 1 have no answer that can be checked")
    options["files"]["train"] = str(tmp_path / "nowhere.jsonl")
    checks = SuiteChecks(suite(model, tasks=[{"task": "dataset", "options": options}]), tmp_path)
    assert found(checks, "model")[0].mark == OK
    assert [one.mark for one in found(checks, "tasks")] == [FIX]


def test_a_policy_that_nothing_ends(tmp_path):
    policy = tiny_policy()
    policy.model.config.eos_token_id = policy.model.generation_config.eos_token_id = policy.tokenizer.eos_token = None
    policy.save(tmp_path / "model")
    marks = {one.mark: one.text for one in found(SuiteChecks(suite(str(tmp_path / "model")), tmp_path), "prompts")}
    assert "no token ends a completion" in marks[WARN]


def test_the_dearest_step_is_lived_through(model, tmp_path):
    """In a process of its own; the stack with a reference is the heaviest."""
    [step] = found(SuiteChecks(suite(model), tmp_path, workers=1), "step")
    assert step.mark == OK, step
    assert re.match(r"grpo\(beta=0.1\) at the longest lengths took .* s and \d.* GiB of ", step.text)


def test_every_rank_needs_a_gpu(model, monkeypatch, tmp_path):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    for ranks, said in ((2, []), (4, ["resources.ranks is 4, a GPU each, and torch sees 2"])):
        checks = SuiteChecks(
            suite(model, policy={"model": model, "device": "cuda"}, resources={"ranks": ranks}), tmp_path
        )
        assert [one.text for one in found(checks, "extras")] == said


def test_a_rehearsal_needs_no_engine_and_is_one_ranks(model, monkeypatch):
    from harness.doctor import rehearse
    from harness.policies.sampler import Sampler

    asked = []
    generate = Sampler.generate

    def noting(self, requests, **options):
        found = generate(self, requests, **options)
        asked.append((type(self).__name__, len(found), found.lengths.unique().tolist(), bool(found.truncated.all())))
        return found

    monkeypatch.setattr(Sampler, "generate", noting)
    served = {"engine": "vllm", "vllm": {"server": "http://127.0.0.1:1"}}
    (trial, *_) = trials(suite(model, sampler=served, resources={"ranks": 2}))
    outcome = rehearse.rehearse(trial, 30)
    assert outcome["updates"] == 1
    assert asked == [("MadeUp", 8, [8], True), ("Sampler", 4, [8], True)]


def test_an_evaluation_is_rehearsed_as_far_as_it_is_decoded_side_by_side(model, monkeypatch):
    from harness.doctor import rehearse
    from harness.policies.policy import Policy
    from harness.policies.sampler import Sampler

    counts = []
    monkeypatch.setattr(Sampler, "generate", lambda _, requests, **__: counts.append(len(requests)))
    room = 3 * 38 * Policy.load(model).backbone.cache_bytes
    monkeypatch.setattr("harness.policies.limits.cache_limit", lambda _: room)
    (trial, *_) = trials(suite(model))
    rehearse._evaluation(SimpleNamespace(config=trial, context=SimpleNamespace(policy=Policy.load(model))), 30)
    assert counts == [3]


def test_every_row_of_a_rehearsal_is_as_long_as_can_be_and_trains(model):
    from harness.doctor import rehearse
    from harness.training.loop import step
    from harness.training.setup import make, open_sandbox

    trial = trials(suite(model), str)[0]
    with open_sandbox(trial) as (task, sandbox):
        made = make(
            trial.model_copy(update={"budget": trial.budget.model_copy(update={"compute": 1e9})}), task, sandbox
        )
        rehearse._make_worst(made, 30)
        metrics, _ = step(made.context, made.lag, 0)
        batch = made.context.state.gathered
    assert batch.prompt_mask.sum(1).eq(30).all()
    assert batch.lengths.eq(8).all()
    assert len({tuple(row.tolist()) for row in batch.prompt_ids}) == 4
    assert metrics["updates"] == 1
    assert batch.correct.float().mean() == 0.5


@pytest.mark.slow
def test_a_step_over_its_memory_is_ended_and_one_that_fails_is_told(model):
    trial = trials(suite(model), str)[0]
    over = measure.try_step(trial, 10, limit=2**26)
    assert not over.fits
    assert over.peak > 2**26
    missing = trial.model_copy(update={"policy": trial.policy.model_copy(update={"model": "nowhere"})})
    with pytest.raises(HarnessError, match=r"a step failed: policy model 'nowhere' is neither"):
        measure.try_step(missing, 10, limit=None)


@pytest.mark.parametrize("most", [0, 1, 5, 24, 40, 63])
def test_the_search_for_a_micro_batch(most):
    tried = []

    def fits(size):
        tried.append(size)
        return size <= most

    best = largest_that_fits(64, fits)
    assert best <= most
    assert most - best <= 8 or best == 32  # to an eighth of what does not fit
    assert (best > 0) == (most > 0)
    assert len(tried) <= 10


@pytest.mark.parametrize(
    ("most", "text"), [(5, "5 fits, as measured: --set learner.micro_batch=5"), (0, "and so does 1")]
)
def test_a_micro_batch_that_does_not_fit(model, tmp_path, monkeypatch, most, text):
    def pretended(trial, _prompt, *, limit):
        return Outcome(fits=trial.learner.micro_batch <= most, peak=limit)

    monkeypatch.setattr(measure, "try_step", pretended)
    [step] = found(SuiteChecks(suite(model), tmp_path), "step")
    assert step.mark == FIX
    assert "with learner.micro_batch = 8 needs more than" in step.text
    assert text in step.text


def test_the_command_ends_with_1_where_something_is_to_be_fixed(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "machine_checks", lambda *_, **__: [])
    checks = {
        "one": lambda: iter([Finding(WARN, "one", "maybe")]),
        "two": lambda: iter([Finding(FIX, "two", "do this")]),
    }
    monkeypatch.setattr("harness.doctor.suite.SuiteChecks", lambda *_, **__: SimpleNamespace(checks=lambda: checks))
    code, out = outcome(capsys, "doctor", "quickstart", "--out", str(tmp_path))
    assert code == 1
    assert out.splitlines() == ["warn one       maybe", "fix  two       do this"]
