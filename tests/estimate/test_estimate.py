"""What a suite costs before it runs: the arithmetic, and the short run behind it."""

from __future__ import annotations

import dataclasses
import math
import re

import pytest

from harness.budget import Cost
from harness.estimate import HARDWARE, Model, memory_needed, nominal, trial_seconds, workload
from harness.estimate.hardware import decode_seconds, gpus_needed, side_by_side
from harness.estimate.workload import evaluations
from harness.suites.schema import Suite
from harness.training.config import TrialConfig

SUITE = {"seeds": 1, "methods": []}


def config(*sets: str) -> TrialConfig:
    from harness.suites import trials

    suite = Suite.load("tiny", ["tasks=[{task: math}]", *sets], SUITE)
    return next(trial for trial in trials(suite) if trial.method.startswith("grpo"))


@pytest.mark.parametrize(("every", "count"), [(1.0, 2), (0.5, 3), (0.25, 5), (0.3, 5), (0.1, 11)])
def test_a_trial_is_evaluated_before_after_and_at_every_share(every: float, count: int) -> None:
    assert evaluations(every) == count


def test_a_nominal_step_counts_what_the_rules_count() -> None:
    """2 prompts x 4 completions, 10 + 5 tokens: sampling 20 + 40, old 120, training 3 x 120."""
    trial = config("sampling.prompts=2", "sampling.group_size=4")
    found = nominal(trial, frozenset(), prompt=10, completion=5)
    assert found == Cost(compute=20 + 40 + 120 + 360, tokens=40, rollouts=8, updates=4)


def test_one_minibatch_needs_no_pass_for_old_log_probabilities() -> None:
    trial = config("sampling.prompts=2", "sampling.group_size=4", "learner.minibatches=1")
    assert nominal(trial, frozenset(), prompt=10, completion=5).compute == 20 + 40 + 360


def test_a_reference_is_one_pass_more() -> None:
    trial = config("sampling.prompts=2", "sampling.group_size=4")
    assert nominal(trial, {"reference"}, 10, 5).compute - nominal(trial, frozenset(), 10, 5).compute == 120


def test_steps_are_those_that_fit_the_budget() -> None:
    trial = config("budget.compute=1000")
    work = workload(trial, Cost(compute=300, tokens=20, rollouts=8), prompt=10, completion=5)
    assert (work.steps, work.compute, work.generated) == (3, 900, 60)
    assert work.evaluated == 400 * 3  # greedy and two samples a problem
    more = config("budget.compute=1000", "evaluation.tasks=[word-problems]")
    assert workload(more, Cost(compute=300), prompt=10, completion=5).evaluated == 2 * work.evaluated


def test_a_budget_of_seconds_buys_steps_by_their_time() -> None:
    trial = config("budget={seconds: 60}")
    assert workload(trial, Cost(compute=300), 10, 5, seconds=7).steps == math.floor(60 / 7)


def test_a_policy_of_seven_billion_needs_several_small_gpus_and_adapters_need_one() -> None:
    gpu = HARDWARE["rtx-4090"]
    whole, adapters = Model(7e9, 7e9), Model(7e9, 4e7)
    assert memory_needed(whole) == 18 * 7e9
    assert memory_needed(Model(7e9, 7e9, reference=True)) == 20 * 7e9
    assert memory_needed(Model(7e9, 4e7, reference=True)) == memory_needed(adapters)  # the adapter is switched off
    assert gpus_needed(whole, gpu) == 8
    assert gpus_needed(adapters, gpu) == 1


def test_more_gpus_and_faster_ones_take_less_time() -> None:
    work = workload(config("budget.compute=1e9"), Cost(compute=1e6, tokens=1e5, rollouts=256), 128, 400)
    model = Model(7e9, 7e9)
    slow, fast = HARDWARE["a100-80gb"], HARDWARE["h100"]
    assert trial_seconds(work, model, fast) < trial_seconds(work, model, slow)
    assert trial_seconds(work, model, slow, 8) < trial_seconds(work, model, slow, 2)


def test_as_many_completions_are_decoded_at_a_time_as_the_sampler_has_room_for() -> None:
    assert side_by_side(1024, Model(5e8, 5e8, cache=12_288)) == 2**30 // (1024 * 12_288)
    assert side_by_side(16, Model(5e8, 5e8, cache=1)) == 1024
    assert side_by_side(10**9, Model(5e8, 5e8, cache=12_288)) == 1
    large = Model(8e9, 8e9, cache=57_344)
    assert side_by_side(1024, large) == 16 * 10**9 // (1024 * 57_344)  # as much as its weights in two bytes
    gpu, model = HARDWARE["h100"], Model(5e8, 5e8)
    few, many = (decode_seconds(256, 512, rows, model, gpu) for rows in (64, 256))
    assert few == pytest.approx(4 * many)


def test_evaluation_has_lengths_of_its_own() -> None:
    assert workload(config(), Cost(compute=300), 10, 5).evaluated_longest == 40
    own = config("evaluation.max_tokens=100", "evaluation.tasks=[word-problems]", "evaluation.tasks_max_tokens=300")
    assert workload(own, Cost(compute=300), 10, 5).evaluated_longest == 200


def test_passes_that_are_run_and_not_counted_take_time() -> None:
    def unpriced(*sets: str) -> float:
        trial = config("sampling.prompts=2", "sampling.group_size=4", "budget.compute=1000", *sets)
        return workload(trial, Cost(compute=1000, rollouts=8), prompt=10, completion=5).unpriced

    assert unpriced() == 0
    assert unpriced("learner.micro_batch=1") == unpriced("policy.gradient_checkpointing=true") == 8 * 15
    assert unpriced("policy.lora={rank: 4}", "learner.micro_batch=1") == 0


def test_an_engine_samples_in_training_and_nothing_else() -> None:
    sets = ("budget.compute=1e9", "sampler={engine: vllm, vllm: {sequences: 64, tensor_parallel: 2}}")
    work = workload(config(*sets), Cost(compute=1e6, tokens=1e5, rollouts=256), 128, 400)
    assert work.engine == (64, 2)
    model, gpu = Model(7e9, 4e7), HARDWARE["h100"]
    slower = trial_seconds(dataclasses.replace(work, engine=(32, 2)), model, gpu, 4)
    assert slower - trial_seconds(work, model, gpu, 4) == pytest.approx(
        2 * work.steps * decode_seconds(64, 40, 64, model, gpu)
    )


def test_the_command_without_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    from harness.cli import main

    with pytest.raises(SystemExit, match="0"):
        main(["estimate", "tiny", "--no-measure", "--parameters", "7.6B", "--hardware", "h100"])
    said = capsys.readouterr().out
    assert "taken, not measured" in said
    assert "h100" in said


@pytest.mark.parametrize("name", ["qwen-0.5b", "qwen-7b"])
def test_what_a_suite_says_that_it_costs_is_what_the_command_says(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from harness.cli import main
    from harness.resources import suite_path

    text = suite_path(name).read_text(encoding="utf-8")
    ((command, said),) = re.findall(r"^# `harness (estimate .*)`: (.*)\.$", text, re.MULTILINE)
    with pytest.raises(SystemExit, match="0"):
        main(command.split())
    rows = re.findall(r"^\W*([a-z0-9-]+) .*│ *([\d,.]+) *│$", capsys.readouterr().out, re.MULTILINE)
    hours = dict(rows)
    figures = re.findall(r"([\d,]+) (?:GPU-hours |h )?on ([a-z0-9-]+)", said)
    assert len(figures) == 2
    assert {gpu: hours[gpu] for _, gpu in figures} == {gpu: figure for figure, gpu in figures}


def test_search_trials_count_by_their_share_of_the_budget(capsys: pytest.CaptureFixture[str]) -> None:
    from harness.cli import main
    from harness.cli.estimate import whole_trials
    from harness.suites.run import plan
    from harness.suites.schema import Suite

    few = ["methods=[rloo]", "honesty=[]", "seeds=2"]
    search = ["tuning.trials=4", "tuning.seeds=3", "tuning.budget_share=0.25"]
    assert whole_trials(plan(Suite.load("tiny", few))) == 4  # rloo and the baseline, two seeds each
    assert whole_trials(plan(Suite.load("tiny", few + search))) == 4 + 2 * 4 * 3 / 4
    options = [option for text in few + search for option in ("--set", text)]
    with pytest.raises(SystemExit, match="0"):
        main(["estimate", "tiny", "--no-measure", "--parameters", "7.6B", "--hardware", "h100", *options])
    said = capsys.readouterr().out
    assert "tiny: 4 trials (2 rows)" in said
    assert "24 search trials" in said
    assert "2.5 times the cost without tuning; all times below are with the search" in said


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--no-measure"], "--parameters"),
        (["--hardware", "h10"], "h100"),
        (["--no-measure", "--parameters", "many"], "--parameters"),
        (["--no-measure", "--parameters", "xB"], "no size of a policy; write 7.6B"),
        (["--no-measure", "--parameters", "0B"], "no size of a policy; write 7.6B"),
        (["--no-measure", "--parameters", "nanB"], "no size of a policy; write 7.6B"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    from harness.cli import main

    with pytest.raises(SystemExit, match="2"):
        main(["estimate", "tiny", *arguments])
    said = capsys.readouterr().err
    assert word in said
    assert said.count("\n") == 1


def test_where_nothing_can_be_measured_the_line_says_how_to_do_without(capsys: pytest.CaptureFixture[str]) -> None:
    from harness.cli import main

    with pytest.raises(SystemExit, match="1"):
        main(["estimate", "tiny", "--set", "policy.model=nowhere"])
    said = capsys.readouterr().err
    assert "'nowhere'" in said
    assert "--no-measure --parameters 7.6B" in said
    assert said.count("\n") == 1


def test_two_steps_here_tell_the_rest() -> None:
    from harness.estimate import calibrate

    found = calibrate(config("sampling.prompts=2", "sampling.group_size=4", "evaluation.problems=4"))
    assert found.step.rollouts == 8
    assert found.step.updates in {2, 4}  # two groups give two minibatches
    assert found.step.compute == pytest.approx(
        nominal(
            config("sampling.prompts=2", "sampling.group_size=4"), frozenset(), found.prompt, found.completion
        ).compute
    )
    assert found.parameters == found.trained > 500_000
    assert min(found.step_seconds, found.evaluation_seconds, found.start_seconds) > 0
