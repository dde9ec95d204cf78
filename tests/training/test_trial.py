"""Whole trials: identical twins, failures in one line, files, edge cases."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from harness.errors import HarnessError
from harness.training.metrics import NAMES
from harness.training.trial import run_trial, trial_key


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def weights(directory):
    newest = max((directory / "checkpoints").glob("step-*"))
    return load_file(newest / "tensors.safetensors")


def same_trial(a, b):
    """Bit-identical curves and weights."""
    assert (a / "metrics.jsonl").read_bytes() == (b / "metrics.jsonl").read_bytes()
    mine, theirs = weights(a), weights(b)
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine if not name.startswith("/trial/plugins"))


@pytest.mark.parametrize("settings", [{"minibatches": 1}, {"minibatches": 2, "updates_per_batch": 2, "lag": 1}])
def test_placebo_equals_its_base_bit_for_bit(config, tmp_path, settings):
    for method in ("grpo(beta=0)", "placebo"):
        result = run_trial(config(method, **settings), tmp_path / method)
        assert (result.status, result.error) == ("done", None)
        assert result.steps >= 2
    same_trial(tmp_path / "grpo(beta=0)", tmp_path / "placebo")


TWIN = """
    @method(base="grpo(beta=0)")
    class {name}:
        @hookimpl
        def estimate_advantages(self, batch, state):
            noise = torch.rand(len(batch), generator=state.generator)
            return batch.groups.center(batch.reward) + 0.1 * noise
"""


def test_identical_methods_under_different_names_are_identical(config, plugin, tmp_path):
    for name in ("Alpha", "Omega"):
        settings = config(name.lower(), plugins=plugin(TWIN.format(name=name)))
        assert run_trial(settings, tmp_path / name).status == "done"
    same_trial(tmp_path / "Alpha", tmp_path / "Omega")


def test_files_of_a_trial(config, tmp_path):
    evaluated = []

    def evaluate(policy, tasks, settings, *, seed, sandbox):
        evaluated.append((tasks[0].name, settings.max_tokens, seed, sandbox))
        torch.rand(3)  # an evaluation may not disturb the trial
        score = float(len(evaluated))
        return SimpleNamespace(score=score, tasks={"math": {"accuracy": score}}, items=[{"task": "math", "key": "k"}])

    beats = []
    result = run_trial(config(seed=2), tmp_path / "a", evaluate=evaluate, heartbeat=beats.append)
    assert result.status == "done"
    assert evaluated[0] == ("math", 8, 2, None)
    found = lines(tmp_path / "a" / "evaluations.jsonl")
    assert found[0]["step"] == 0
    assert found[0]["spent"] == 0
    assert (found[-1]["step"], found[-1]["spent"]) == (result.steps, result.spent)
    assert [e["score"] for e in found] == list(map(float, range(1, len(evaluated) + 1)))
    assert (result.untrained, result.last, result.score) == (1.0, float(len(found)), float(len(found)))
    assert {int(4 * e["progress"]) for e in found} >= {0, 1, 2}
    assert beats[-1]["spent"] == result.spent
    assert {beat["doing"] for beat in beats} == {"running", "evaluating"}
    run_trial(config(seed=2), tmp_path / "b")
    same_trial(tmp_path / "a", tmp_path / "b")
    record = json.loads((tmp_path / "a" / "config.json").read_text())
    assert record["stack"] == "grpo(beta=0)"
    assert record["unweighed"] == []
    assert (
        record["provenance"]["packages"]["torch"] == torch.__version__.split("+")[0] or record["provenance"]["packages"]
    )
    ledger = json.loads((tmp_path / "a" / "ledger.json").read_text())
    assert ledger["spent"] == result.spent == lines(tmp_path / "a" / "metrics.jsonl")[-1]["spent"]
    timing = lines(tmp_path / "a" / "timing.jsonl")
    assert set(timing[0]["stages"]) >= {"rounds", "update", "end"}
    assert run_trial(config(seed=2), tmp_path / "a", evaluate=None) == result
    for record in lines(tmp_path / "a" / "metrics.jsonl"):
        assert all(name in NAMES or name.startswith(("reward/", "method/")) for name in record)


def test_an_unfinished_trial_with_other_settings_is_overwritten(config, tmp_path):
    run_trial(config(), tmp_path / "a", should_stop=lambda: True)
    run_trial(config(seed=1), tmp_path / "a")
    run_trial(config(seed=1), tmp_path / "b")
    same_trial(tmp_path / "a", tmp_path / "b")


def test_a_result_of_another_trial_is_refused(config, tmp_path):
    directory = tmp_path / "a"
    done = run_trial(config(compute=900), directory)
    assert run_trial(config(compute=900, checkpoint_seconds=3.0), directory) == done
    for settings in (config(compute=900, seed=1), config(compute=901), config("rloo", compute=900)):
        with pytest.raises(HarnessError, match=r"a holds the result of another trial.*, or remove") as e:
            run_trial(settings, directory)
        assert "\n" not in str(e.value)
    assert json.loads((directory / "result.json").read_text())["status"] == "done"


def test_the_key_follows_what_changes_numbers(config):
    stack, digests = {"canonical": "grpo"}, {"task": "t", "policy": "p"}
    key = trial_key(config(), stack, digests)
    assert key == trial_key(config(checkpoint_seconds=3.0), stack, digests)
    others = [
        trial_key(config(seed=1), stack, digests),
        trial_key(config(lr=2e-3), stack, digests),
        trial_key(config(), {"canonical": "grpo", "digest": "x"}, digests),
        trial_key(config(), stack, {**digests, "policy": "q"}),
    ]
    assert len({key, *others}) == 5


FAULTS = {
    "shape": ("estimate_advantages", "return batch.reward[:3]", "expected advantages"),
    "nan": ("estimate_advantages", "return batch.reward * float('nan')", "finite"),
    "raise": ("estimate_advantages", "raise KeyError('lost')", "KeyError"),
    "attached": ("estimate_advantages", "return batch.reward.requires_grad_()", "detached"),
    "attribute": ("start", "self.thing = object()", "thing"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_plugin_fails_in_one_line(config, plugin, tmp_path, fault):
    hook, body, expected = FAULTS[fault]
    arguments = "run" if hook == "start" else "batch"
    source = f"""
        @method(base="grpo(beta=0)")
        class Faulty:
            @hookimpl
            def {hook}(self, {arguments}):
                {body}
    """
    result = run_trial(config("faulty", plugins=plugin(source)), tmp_path / "t")
    assert result.status == "failed"
    assert "faulty" in result.error
    assert fault == "attribute" or hook in result.error
    assert expected in result.error
    assert "\n" not in result.error
    assert json.loads((tmp_path / "t" / "result.json").read_text())["error"] == result.error


@pytest.mark.parametrize(
    ("change", "message"),
    [({"method": "grpoo"}, "grpo"), ({"method": "grpo(bta=1)"}, "beta"), ({"tasks": ({"task": "maths"},)}, "math")],
)
def test_bad_settings_fail_in_one_line(config, tmp_path, change, message):
    settings = config().model_copy(update={k: v for k, v in change.items() if k != "tasks"})
    if "tasks" in change:
        settings = type(settings).model_validate({**settings.model_dump(), **change, "budget": {"compute": 6000}})
    result = run_trial(settings, tmp_path / "t")
    assert result.status == "failed"
    assert message in result.error
    assert "\n" not in result.error


def test_unusable_weights_diverge(config, tmp_path, policy_dir):
    scores = iter([0.5, 0.1, 0.1])

    def evaluate(*_, **__):
        return SimpleNamespace(score=next(scores), tasks={}, items=[])

    result = run_trial(config(lr=1e38, max_grad_norm=None), tmp_path / "t", evaluate=evaluate)
    assert result.status == "diverged"
    assert "not finite" in result.error
    assert result.score == min(result.untrained, result.last)


def test_the_answers_of_the_first_and_the_last_evaluation_are_kept(config, tmp_path):
    """Also by a trial that stops after its first step and goes on."""
    asked = []

    def evaluate(*_, **__):
        asked.append(len(asked))
        return SimpleNamespace(score=0.5, tasks={}, items=[{"task": "math", "key": "k", "text": str(asked[-1])}])

    run_trial(config(), tmp_path / "t", evaluate=evaluate, should_stop=lambda: True)
    run_trial(config(), tmp_path / "t", evaluate=evaluate)
    assert len(asked) > 2
    assert [item["text"] for item in lines(tmp_path / "t" / "untrained.jsonl")] == ["0"]
    assert [item["text"] for item in lines(tmp_path / "t" / "items.jsonl")] == [str(asked[-1])]


def test_a_budget_that_buys_no_step_is_a_failure(config, tmp_path):
    untrained = SimpleNamespace(score=0.25, tasks={}, items=())
    result = run_trial(config(compute=50), tmp_path, evaluate=lambda *_, **__: untrained)
    assert (result.status, result.steps, result.spent) == ("failed", 0, 0)
    assert result.error.startswith("the budget bought no step: of 50 compute, less than half of a batch fits")
    assert result.score == result.untrained == 0.25  # it keeps its place on the board


def test_a_trial_over_its_time_stops(config, tmp_path):
    settings = config()
    settings = settings.model_copy(update={"limits": settings.limits.model_copy(update={"seconds": 1e-6})})
    result = run_trial(settings, tmp_path / "t")
    assert (result.status, result.steps) == ("timeout", 1)


KEEP = """
    @method(base="grpo(beta=0)")
    class Picky:
        rows: int = 0

        @hookimpl
        def keep(self, batch):
            return batch.rollout < self.rows
"""


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_or_no_rows_kept(config, plugin, tmp_path, rows):
    result = run_trial(config(f"picky(rows={rows})", plugins=plugin(KEEP)), tmp_path / "t")
    assert result.status == "done"
    assert result.spent <= result.limit
    found = lines(tmp_path / "t" / "metrics.jsonl")
    assert {record["kept"] for record in found} == {rows / 4}
    assert all(record["updates"] == (2 if rows else 0) for record in found)
    assert "nonfinite" not in found[0]


EDGES = {
    "equal rewards": ("shape_rewards(self, batch)", "batch.replace(rewards=torch.ones_like(batch.rewards))", {}),
    "groups of one": ("group_by(self, batch)", "torch.arange(len(batch))", {}),
    "one completion a prompt": (None, None, {"group_size": 1}),
    "all truncated": (None, None, {"max_tokens": 1}),
    "nothing trains": ("train_on(self, batch)", "torch.zeros(len(batch), dtype=torch.bool)", {}),
    "empty completions": ("generate(self, sampler, requests)", "shorten(sampler.generate(requests))", {}),
}
SHORTEN = """
    def shorten(rollouts):
        first = torch.arange(len(rollouts)) % 2 == 0
        mask = torch.where(first[:, None], torch.zeros_like(rollouts.mask), rollouts.mask)
        return rollouts.replace(mask=mask, lengths=mask.sum(1).long(), logp=rollouts.logp * mask)


    @method(base="grpo(beta=0)")
    class Edge:
        @hookimpl
        def {hook}:
            return {value}
"""


@pytest.mark.parametrize("edge", EDGES)
def test_edge_cases_stay_finite(config, plugin, tmp_path, edge):
    hook, value, settings = EDGES[edge]
    if hook:
        settings = {**settings, "plugins": plugin(SHORTEN.format(hook=hook, value=value)), "method": "edge"}
    result = run_trial(config(**settings), tmp_path / "t")
    assert (result.status, result.error) == ("done", None)
    assert result.steps > 0
    assert all("nonfinite" not in record for record in lines(tmp_path / "t" / "metrics.jsonl"))
    assert all(bool(x.isfinite().all()) for x in weights(tmp_path / "t").values() if x.is_floating_point())


MODULES = {
    "raises": ("1 / 0", r"plugin 'critical' \(.*\), built module 'critic': ZeroDivisionError"),
    "shape": (
        "hidden.mean()",
        r"plugin 'critical' \(.*\), built module 'critic': expected tensors with 16 rows, got \[\]",
    ),
}


@pytest.mark.parametrize("fault", MODULES)
def test_a_faulty_module_fails_in_one_line(config, plugin, tmp_path, fault):
    body, expected = MODULES[fault]
    source = f"""
        class Critic(torch.nn.Module):
            def forward(self, batch, hidden):
                return {body}


        @method(base="grpo(beta=0)")
        class Critical:
            @hookimpl
            def build(self):
                return {{"critic": Critic()}}
    """
    result = run_trial(config("critical", plugins=plugin(source)), tmp_path / "t")
    assert result.status == "failed"
    assert re.match(expected, result.error)
    assert "Traceback" in (tmp_path / "t" / "traceback.txt").read_text()


ROUNDS = """
    @method(base="grpo(beta=0)")
    class Insatiable:
        @hookimpl
        def next_round(self, batch, round, state):
            assert state.gathered is batch and len(batch) == 16 * (round + 1)
            more = state.draw(2) + [state.request(batch.prompts[0].key, 8)]
            return more

        @hookimpl
        def keep(self, batch):
            return batch.round < 2
"""


def test_later_rounds_draw_other_prompts_and_number_rollouts_on(config, plugin, started):
    trial, batch = started(config("insatiable", plugins=plugin(ROUNDS), max_rounds=3, compute=1e6))
    gathered = trial.context.state.gathered
    assert len(gathered) == 48
    assert len(batch) == 32
    assert gathered.round.tolist() == [0] * 16 + [1] * 16 + [2] * 16
    keys = [record.key for record in gathered.prompts]
    assert len(set(keys)) == 4 + 2 + 2
    assert len(set(zip(keys, gathered.rollout.tolist(), strict=True))) == 48
    assert keys.count(keys[0]) == 4 + 8 + 8
    assert trial.context.ledger.counts["rollouts_dropped"] == 16


def test_sampling_weights_may_be_some_steps_old(config, tmp_path):
    run_trial(config(lag=2), tmp_path / "t")
    found = lines(tmp_path / "t" / "metrics.jsonl")
    assert [record["age"] for record in found][:4] == [0, 1, 2, 2]
    assert found[0]["logp_gap_max"] < 1e-5 < found[2]["logp_gap_max"]
