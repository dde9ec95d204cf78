"""Checkpoints, files, schedules, lag, minibatches, state: small parts on their own."""

from __future__ import annotations

import itertools
import json
import math

import pytest
import torch

from harness.policies.random import tiny_policy
from harness.training import checkpoint
from harness.training.config import OptimizerConfig
from harness.training.files import TrialFiles
from harness.training.lag import Lag
from harness.training.learner import Learner
from harness.training.measures import add_up
from harness.training.metrics import NAMES, safe
from harness.training.minibatches import bundles
from harness.training.provenance import provenance
from harness.training.schedule import due, factor
from harness.training.state import derive_seed


def test_a_checkpoint_returns_any_tree(tmp_path):
    tree = {
        "numbers": [1, 2.5, float("inf"), None, True, "text"],
        "tensors": {
            "a": torch.arange(3),
            "empty": torch.zeros(0, 2),
            "scalar": torch.tensor(1.5),
            "bool": torch.ones(2) > 0,
        },
        "nested": [{"x": torch.ones(2, 2).T}, []],
    }
    assert checkpoint.load_newest(tmp_path) is None
    for step in (1, 2, 30):
        checkpoint.save(tmp_path, step, {**tree, "step": step})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-000002", "step-000030"]
    step, found = checkpoint.load_newest(tmp_path)
    assert (step, found["step"]) == (30, 30)
    assert found["numbers"] == tree["numbers"]
    for name, x in tree["tensors"].items():
        assert torch.equal(found["tensors"][name], x)
        assert found["tensors"][name].dtype == x.dtype
    assert torch.equal(found["nested"][0]["x"], torch.ones(2, 2))


@pytest.mark.parametrize("damage", ["flip", "cut", "missing", "manifest"])
def test_a_damaged_checkpoint_is_never_loaded(tmp_path, damage):
    checkpoint.save(tmp_path, 1, {"x": torch.ones(100), "n": 1})
    checkpoint.save(tmp_path, 2, {"x": torch.ones(100), "n": 2})
    target = tmp_path / "step-000002" / ("manifest.json" if damage == "manifest" else "tensors.safetensors")
    content = target.read_bytes()
    if damage == "missing":
        target.unlink()
    else:
        target.write_bytes(content[: len(content) // 2] if damage != "flip" else content[:-1] + b"\x07")
    step, found = checkpoint.load_newest(tmp_path)
    assert (step, found["n"]) == (1, 1)
    assert not (tmp_path / "step-000002").exists()


def test_a_checkpoint_in_the_making_is_swept_away(tmp_path):
    (tmp_path / ".tmp-000007").mkdir(parents=True)
    checkpoint.save(tmp_path, 1, {"n": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["step-000001"]


def test_lines_are_cut_back_and_only_finite_numbers_written(tmp_path):
    files = TrialFiles(tmp_path / "trial")
    files.append("metrics.jsonl", {"step": 0, "bad": math.nan, "worse": math.inf})
    offsets = files.offsets()
    files.append("metrics.jsonl", {"step": 1})
    files.append("timing.jsonl", {"step": 1})
    assert files.reaches(offsets)
    assert not files.reaches({"metrics.jsonl": 10**6})
    files.cut(offsets)
    assert (tmp_path / "trial" / "timing.jsonl").read_text() == ""
    record = json.loads((tmp_path / "trial" / "metrics.jsonl").read_text())
    assert record == {"step": 0, "nonfinite": ["bad", "worse"]}


def test_schedules_follow_the_fraction_spent():
    assert factor(OptimizerConfig(), 0.7) == 1.0
    linear = OptimizerConfig(schedule="linear")
    assert [factor(linear, p) for p in (0.0, 0.25, 1.0)] == [1.0, 0.75, 0.0]
    cosine = OptimizerConfig(schedule="cosine", warmup=0.1)
    assert 0 < factor(cosine, 0.0) < 0.02
    assert factor(cosine, 0.1) == pytest.approx(1.0)
    assert factor(cosine, 0.55) == pytest.approx(0.5)
    assert factor(cosine, 1.0) == pytest.approx(0.0, abs=1e-12)


def test_evaluations_fall_due_at_fixed_fractions():
    assert [due(0.25, a, b) for a, b in [(0, 0.24), (0.24, 0.25), (0.25, 0.49), (0.4, 0.8), (0.75, 1.0)]] == [
        False, True, False, True, True,
    ]  # fmt: skip
    steps = [i / 30 for i in range(31)]
    assert sum(due(0.1, a, b) for a, b in itertools.pairwise(steps)) == 10


def test_lagged_weights_are_those_of_earlier_steps():
    policy = tiny_policy()
    lag = Lag(policy, 2)
    parameter, old = (next(iter(p.model.parameters())) for p in (policy, lag.policy))
    seen = []
    for number in range(5):
        with torch.no_grad():
            parameter.fill_(float(number))
        seen.append((lag.begin_step(), float(old.flatten()[0])))
    assert seen == [(0, 0.0), (1, 0.0), (2, 0.0), (2, 1.0), (2, 2.0)]
    again = Lag(policy, 2)
    again.load_state_dict(lag.state_dict())
    assert again.begin_step() == 2
    none = Lag(policy, 0)
    assert none.policy is policy
    assert none.begin_step() == 0


def test_metrics_of_minibatches_add_up():
    found = [
        {"loss": 1.0, "log_ratio_max": 0.1, "tokens_trained": 1.0, "grad_norm": 4.0},
        {"loss": 4.0, "log_ratio_max": 0.3, "tokens_trained": 2.0},
        {"tokens_trained": 0.0},
    ]
    assert add_up(found) == {"loss": 3.0, "log_ratio_max": 0.3, "tokens_trained": 3.0, "grad_norm": 4.0}


def test_bundles_keep_groups_and_prompts_whole(started, config):
    _, batch = started(config())
    prompt = torch.tensor([0, 0, 1, 1, 2, 3])
    small = batch[:6].replace(prompt=prompt, group_keys=prompt)
    assert bundles(small).tolist() == [0, 0, 1, 1, 2, 3]
    across = small.replace(group_keys=torch.tensor([5, 6, 6, 7, 8, 8]))
    assert bundles(across).tolist() == [0, 0, 0, 0, 1, 1]
    pairs = small.replace(group_keys=torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [3, 0]]))
    assert bundles(pairs).tolist() == [0, 0, 1, 1, 2, 3]


def test_generators_are_keyed_by_seed_step_and_hook(started, config):
    trial, _ = started(config())
    state = trial.context.state
    first = torch.rand(3, generator=state.generator)
    state.begin_step(0, 0.0)
    assert torch.equal(first, torch.rand(3, generator=state.generator))
    state.begin_step(1, 0.0)
    assert not torch.equal(first, torch.rand(3, generator=state.generator))
    assert derive_seed(1, 2, "a") != derive_seed(1, 2, "b")


def test_requests_of_the_state(started, config):
    trial, batch = started(config())
    state = trial.context.state
    key = batch.prompts[0].key
    plain = state.request(key)
    assert (plain.n, plain.max_tokens, plain.temperature) == (4, 8, 1.0)
    longer = state.request(
        key, 2, text="1+1=", prefix={"ids": [5, 6], "logp": [-1.0, -2.0], "mask": [0, 0]}, max_tokens=9
    )
    assert longer.prompt_ids == tuple(trial.context.policy.encode_prompt("1+1="))
    assert (longer.new_tokens, longer.prefix_mask) == (7, (0.0, 0.0))


def test_metered_policies_charge_what_hooks_ask(started, config):
    trial, batch = started(config())
    context = trial.context
    before = context.ledger.spent
    logp = context.metered.score([[1, 2, 3], [4, 5]], [[6, 7], [8]])
    assert logp.shape == (2, 2)
    assert context.ledger.spent - before == 5 + 3
    assert context.ledger.categories["policy"] == 8
    before = context.ledger.spent
    context.metered.evaluate(batch)  # the loop has made this pass: minibatches are 2
    assert context.ledger.spent == before
    context.metered.forget()
    context.metered.evaluate(batch)
    assert context.ledger.spent - before == int((batch.prompt_mask.sum(1) + batch.lengths).sum())


def test_names_are_safe_and_documented():
    assert safe("plain_name-1.0") == "plain_name-1.0"
    assert safe("a b") == "a_x20_b"
    assert len({safe(name) for name in ("a b", "a/b", "a:b", "a_b")}) == 4
    assert all(safe(name) == name for name in NAMES)
    assert all(NAMES.values())


def test_provenance_knows_versions_and_machine():
    found = provenance()
    assert found["packages"]["torch"]
    assert found["threads"] == torch.get_num_threads() or found["threads"] >= 1
    assert found["cpu"]


def test_modules_are_clipped_apart_from_the_policy(started, config, plugin):
    source = """
        class Head(torch.nn.Linear):
            def forward(self, batch, hidden):
                return super().forward(hidden)[..., 0]


        @method(base="grpo(beta=0)")
        class Headed:
            @hookimpl
            def build(self, policy):
                torch.manual_seed(0)
                return {"head": Trained(Head(policy.model.config.hidden_size, 1), lr=0.5, max_grad_norm=1e-9)}

            @hookimpl
            def regularize(self, batch, output):
                return 1000 * output.modules["head"].square().mean()
    """
    trial, batch = started(config("headed", plugins=plugin(source), lr=0.25))
    learner: Learner = trial.context.learner
    assert [group["lr"] for group in learner.optimizer.param_groups] == [0.25, 0.5]
    learner.backward(batch)
    from harness.training.learner import _clip

    norms = [float(_clip(owned, limit)) for owned, limit in learner.owned]
    assert len(norms) == 2
    assert float(torch.cat([p.grad.flatten() for p in learner.owned[1][0]]).norm()) < 1e-8
    assert float(torch.cat([p.grad.flatten() for p in learner.owned[0][0]]).norm()) > 1e-3
