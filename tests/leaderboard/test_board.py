from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from harness.errors import UsageError
from harness.leaderboard import board
from harness.leaderboard.columns import footnotes
from harness.leaderboard.duel import duel
from harness.leaderboard.formats import as_markdown
from harness.leaderboard.model import role_of
from tests.leaderboard.fixtures import BUDGET, GRPO, write_demo, write_json, write_lines, write_suite, write_trial

START = 0.25
BASE = [0.40, 0.42, 0.38, 0.41, 0.39]
BETTER = [0.46, 0.47, 0.45, 0.46, 0.44]


def write_rows(root, rows, **settings):
    """method -> final scores of its seeds."""
    for method, finals in rows.items():
        for seed, final in enumerate(finals):
            write_trial(root, method, seed, [START, (START + final) / 2, final], **settings)
    write_suite(root, list(rows), max(len(finals) for finals in rows.values()))


def test_score_difference_and_verdict(tmp_path):
    write_rows(
        tmp_path,
        {GRPO: BASE, "dapo": BETTER, "rloo": [b + d for b, d in zip(BASE, [0.01, -0.01, 0, 0.01, 0], strict=True)]},
    )
    made = board(tmp_path)
    row = made.row("dapo")
    assert row.score.mean == pytest.approx(np.mean(BETTER))
    pairs = np.subtract(BETTER, BASE)
    low, high = stats.t.interval(1 - 0.05 / 2, 4, loc=pairs.mean(), scale=stats.sem(pairs))
    assert (row.difference.interval.low, row.difference.interval.high) == pytest.approx((low, high))
    assert row.difference.p == pytest.approx(stats.ttest_1samp(pairs, 0).pvalue)
    assert row.difference.p_holm == pytest.approx(2 * row.difference.p)
    assert row.difference.verdict == "better"
    assert row.difference.p_better == 1.0
    assert made.row("rloo").difference.verdict == ""
    assert made.comparisons == 2
    assert not made.provisional
    assert row.tasks == pytest.approx({"math": row.score.mean, "code": row.score.mean})


def test_sorted_by_the_lower_end_of_the_difference_not_by_the_mean(tmp_path):
    wild = [0.60, 0.30, 0.55, 0.35, 0.62]
    write_rows(tmp_path, {GRPO: BASE, "wild": wild, "steady": [b + 0.02 + 0.001 * i for i, b in enumerate(BASE)]})
    made = board(tmp_path)
    assert np.mean(wild) > made.row("steady").score.mean
    assert [row.method for row in made.rows] == ["steady", GRPO, "wild", "untrained"] or [
        row.method for row in made.rows
    ] == ["steady", GRPO, "untrained", "wild"]


def test_untrained_row_is_the_first_evaluation_of_the_baselines_trials(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "dapo": BETTER})
    row = board(tmp_path).row("untrained")
    assert (row.role, row.score.mean, row.n, row.cost) == ("untrained", pytest.approx(START), 5, None)
    assert row.difference.interval.mean == pytest.approx(START - 0.40)
    assert row.difference.verdict == ""


def test_sign_flip_p_only_where_it_can_reach_the_level(tmp_path):
    write_rows(tmp_path / "five", {GRPO: BASE, "dapo": BETTER})
    assert math.isnan(board(tmp_path / "five").row("dapo").difference.p_sign)
    write_rows(tmp_path / "six", {GRPO: [*BASE, 0.4], "dapo": [*BETTER, 0.45]})
    assert board(tmp_path / "six").row("dapo").difference.p_sign == pytest.approx(2 / 64)


@pytest.mark.parametrize("status", ["failed", "diverged", "timeout"])
def test_failures_stay_with_the_lower_of_untrained_and_last(tmp_path, status):
    write_rows(tmp_path, {GRPO: BASE, "raft": BASE})
    write_trial(tmp_path, "raft", 0, [START, 0.5], status=status, progress=[0, 0.5])
    write_trial(tmp_path, "raft", 1, [START, 0.1], status=status, progress=[0, 0.5])
    row = board(tmp_path).row("raft")
    assert row.scores[:2] == pytest.approx([START, 0.1])
    assert row.n == 5
    assert row.cost.failures == {status: 2}
    assert any(status in note for note in board(tmp_path).notes)


def test_a_failure_without_any_evaluation_scores_the_untrained_policy_of_its_seed(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "raft": BASE})
    path = write_trial(tmp_path, "raft", 2, [START], status="failed", progress=[0.0])
    (path / "evaluations.jsonl").unlink()
    base = write_trial(tmp_path, GRPO, 2, [0.31, 0.4])
    assert base.is_dir()
    assert board(tmp_path).row("raft").scores[2] == pytest.approx(0.31)


def test_missing_trials_are_counted_not_dropped(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "dapo": BETTER})
    write_suite(tmp_path, [GRPO, "dapo", "rloo"], 5)
    write_trial(tmp_path, "dapo", 4, [START, 0.3], status="interrupted")
    write_trial(tmp_path, "dapo", 3, [START, 0.3], status=None)
    made = board(tmp_path)
    row = made.row("dapo")
    assert (row.n, row.expected) == (3, 5)
    assert row.difference.verdict == ""  # three pairs claim nothing
    assert math.isnan(row.difference.p_holm)
    assert made.row("rloo").n == 0
    assert made.comparisons == 2  # the family is what was planned
    assert any("dapo (n = 3 of 5)" in note and "rloo (n = 0 of 5)" in note for note in made.notes)


def test_below_five_seeds_a_board_claims_nothing(tmp_path):
    write_rows(tmp_path, {GRPO: BASE[:4], "dapo": BETTER[:4]})
    made = board(tmp_path)
    assert made.provisional
    assert made.row("dapo").difference.verdict == ""
    assert made.row("dapo").difference.interval.low > 0  # the interval is still shown


def test_controls_make_no_claims_and_cost_no_power(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "dapo": BETTER, f"{GRPO}+placebo": BASE, f"{GRPO}+random-reward": [0.2] * 5})
    made = board(tmp_path)
    assert made.comparisons == 1
    assert made.row(f"{GRPO}+random-reward").difference.verdict == ""
    assert made.warnings == ()
    assert role_of("placebo") == "placebo"
    assert role_of("grpo+random-reward(share=1)") == "random-reward"
    assert role_of("placebo-like") == "method"


def test_of_a_measure_of_which_more_is_not_better_nothing_is_called_better(tmp_path):
    longer = {GRPO: [20.0, 21.0, 22.0, 21.0, 20.0], "dapo": [30.0, 31.1, 32.0, 31.0, 30.2]}
    for method, lengths in longer.items():
        for seed, length in enumerate(lengths):
            path = write_trial(tmp_path, method, seed, [0.2, 0.4]) / "evaluations.jsonl"
            records = [json.loads(line) for line in path.read_text().splitlines()]
            for measured in records[-1]["tasks"].values():
                measured["length"] = length
            write_lines(path, records)
    write_suite(tmp_path, list(longer), 5)
    made = board(tmp_path, metric="length")
    assert made.row("dapo").difference.verdict == "higher"
    assert board(tmp_path, metric="length", baseline="dapo").row(GRPO).difference.verdict == "lower"
    assert "dapo is higher than grpo(beta=0)" in duel(made, "dapo", GRPO).sentence
    assert any(line.startswith("More length is not better") for line in footnotes(made))
    assert not any("not better" in line for line in footnotes(board(tmp_path)))


def test_a_placebo_that_differs_is_a_warning(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, f"{GRPO}+placebo": [*BASE[:4], BASE[4] + 1e-9]})
    warning = board(tmp_path).warnings[0]
    assert "placebo differs" in warning
    assert "seeds 4" in warning


def test_the_placebo_is_held_against_the_suites_own_baseline(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "dapo": BETTER, f"{GRPO}+placebo": BASE})
    assert board(tmp_path, baseline="dapo").warnings == ()


def test_random_rewards_that_teach_are_a_warning(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, f"{GRPO}+random-reward": [0.30, 0.31, 0.29, 0.30, 0.32]})
    assert "random-reward gains +5.4 points" in board(tmp_path).warnings[0]


def test_mixed_machines_are_noted(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "dapo": BETTER})
    write_trial(
        tmp_path, "dapo", 0, [START, 0.4], provenance={"cpu": "model B", "threads": 1, "packages": {"torch": "9"}}
    )
    notes = " ".join(board(tmp_path).notes)
    assert "mixed processors: model A, model B" in notes
    assert "mixed torch versions: 2.13.0, 9" in notes


def test_mixed_commits_are_told_by_the_start_of_their_hashes(tmp_path):
    write_rows(tmp_path, {GRPO: BASE})
    for method, commit in (("dapo", "a" * 40), ("rloo", "b" * 40 + "+changes")):
        write_trial(tmp_path, method, 0, [START, 0.4], provenance={"cpu": "c", "commit": commit})
    assert "mixed commits: aaaaaaaaaa, abc, bbbbbbbbbb+changes" in board(tmp_path).notes


def test_inert_where_a_clipping_method_never_clipped(tmp_path):
    write_rows(tmp_path, {GRPO: BASE})
    for seed in range(5):
        write_trial(tmp_path, "gspo", seed, [START, 0.4], clips=True, clip_share=0.0)
        write_trial(tmp_path, "dapo", seed, [START, 0.4], clips=True, clip_share=0.1 if seed == 3 else 0.0)
        write_trial(tmp_path, "rloo", seed, [START, 0.4], clips=False, clip_share=0.0, experimental=True)
    made = board(tmp_path)
    assert [made.row(name).inert for name in ("gspo", "dapo", "rloo")] == [True, False, False]
    assert made.row("rloo").experimental


def test_costs(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "dapo": BETTER}, discarded=0.3)
    cost = board(tmp_path).row("dapo").cost
    assert (cost.spent, cost.share, cost.waste, cost.seconds, cost.failed) == pytest.approx((BUDGET, 1.0, 0.3, 40.0, 0))
    assert cost.extra == pytest.approx(100 / 1170)


def test_metrics(tmp_path):
    for seed, final in enumerate(BASE):
        write_trial(tmp_path, GRPO, seed, {"math": [0.2, final], "code": [0.4, 0.8]})
        write_trial(tmp_path, "dapo", seed, {"math": [0.2, final + 0.1], "code": [0.4, 0.7]})
    found = {name: board(tmp_path, metric=name).row("dapo").score.mean for name in (
        "score", "math", "code", "accuracy", "code/accuracy", "auc", "math/auc", "length",
    )}  # fmt: skip
    assert found == pytest.approx({
        "score": 0.6, "math": 0.5, "code": 0.7, "accuracy": 0.62, "code/accuracy": 0.72, "auc": 0.45, "math/auc": 0.35,
        "length": 20.0,
    })  # fmt: skip
    with pytest.raises(UsageError, match=r"unknown metric 'math/accurcy'.*'math/accuracy'"):
        board(tmp_path, metric="math/accurcy")


def test_any_method_may_be_the_baseline(tmp_path):
    write_rows(tmp_path, {GRPO: BASE, "dapo": BETTER})
    made = board(tmp_path, baseline="dapo")
    assert made.row("dapo").role == "baseline"
    assert made.row(GRPO).difference.verdict == "worse"
    with pytest.raises(UsageError, match=r"'dap'.*Did you mean 'dapo'"):
        board(tmp_path, baseline="dap")


def test_rules_never_mix(tmp_path):
    write_rows(tmp_path, {GRPO: BASE})
    write_trial(tmp_path, "dapo", 0, [START, 0.4], rules=2)
    with pytest.raises(UsageError, match="mixes rules versions"):
        board(tmp_path)


def test_a_trial_that_sees_no_placebo_effect_has_difference_exactly_zero(tmp_path):
    write_demo(tmp_path)
    found = board(tmp_path).row(f"{GRPO}+placebo").difference
    assert (found.interval.mean, found.interval.low, found.interval.high) == (0.0, 0.0, 0.0)
    assert found.p == 1.0


def test_a_suite_with_one_evaluation_only(tmp_path):
    write_trial(tmp_path, GRPO, 0, [START], status="failed")
    write_suite(tmp_path, [GRPO], 1)
    made = board(tmp_path)
    assert made.row(GRPO).score.mean == START
    assert json.dumps(made.notes)


def test_a_board_counts_steps_and_says_when_they_are_few(tmp_path):
    for seed in range(2):
        write_trial(tmp_path, GRPO, seed, [0.1, 0.2], steps=2)
        write_trial(tmp_path, "dapo", seed, [0.1, 0.3], steps=2 + seed)
    made = board(tmp_path)
    assert [row.cost.steps for row in made.rows if row.cost] == [2.5, 2.0]
    assert "2 to 3 steps a trial: too few to say anything; give a larger --budget" in made.notes
    assert "| 2.5 |" in as_markdown(made)
    write_trial(tmp_path, "dapo", 1, [0.1, 0.3], steps=5)
    assert any(note.startswith("2 steps in 3 of 4 trials: too few") for note in board(tmp_path).notes)


def test_a_board_says_whose_budget_bought_no_step(tmp_path):
    write_trial(tmp_path, GRPO, 0, [0.1, 0.2])
    path = write_trial(tmp_path, "dapo", 0, [0.1], status="failed")
    result = {"status": "failed", "steps": 0, "error": "the budget bought no step: of 5 compute"}
    write_json(path / "result.json", result)
    notes = board(tmp_path).notes
    assert "the budget bought no step: dapo; their scores are the untrained policy's" in notes
    assert not any("too few" in note for note in notes)
