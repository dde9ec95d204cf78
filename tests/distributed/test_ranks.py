"""A trial in 1, 2 and 4 processes over gloo: the same completions, the same gradients."""

from __future__ import annotations

import pytest
import torch

from harness.distributed import SOLO
from harness.policies.rollouts import Request
from harness.policies.shares import share
from harness.training.config import (
    BudgetConfig,
    LearnerConfig,
    PolicyConfig,
    Resources,
    SamplingConfig,
    TrialConfig,
)  # fmt: skip
from tests.distributed.at_work import alone, exchanges, in_ranks, steps
from tests.training.conftest import apart, policy_dir  # noqa: F401 - a fixture

WHOLE = '''
from harness import hookimpl, method


@method(base="grpo(beta=0)", direct=True)
class Whole:
    """A loss that has the graph of the whole minibatch."""

    @hookimpl
    def loss(self, batch, output):
        return -(output.logp * batch.advantages * batch.mask).sum() / batch.mask.sum()
'''


@pytest.fixture(scope="module")
def cases(policy_dir, tmp_path_factory):  # noqa: F811
    """Trials by name: kept graphs and replayed ones, needs, modules, a frozen reference, fewer rows than ranks."""
    file = tmp_path_factory.mktemp("plugins") / "whole.py"
    file.write_text(WHOLE)

    def case(method, dtype="float64", prompts=4, group=4, micro=64, *, sharded=False, **more):
        attention = "sdpa" if sharded else None  # divided weights are transformers' own network, one process or more
        return TrialConfig(
            suite="ranks", method=method, seed=2,
            policy=PolicyConfig(model=policy_dir, dtype=dtype, attention=attention),
            sampling=SamplingConfig(prompts=prompts, group_size=group, max_tokens=8),
            learner=LearnerConfig(minibatches=2, micro_batch=micro), budget=BudgetConfig(compute=1e6),
            resources=Resources(sharded=sharded), **more,
        )  # fmt: skip

    return {
        "kept": case("grpo"),
        "replayed": case("grpo(beta=0)+entropy-bonus", micro=3),
        "single": case("grpo", "float32", micro=3),
        "few rows and modules": case("ppo", prompts=2, group=2, micro=1),
        "direct": case("whole", plugins=(str(file),)),
        "sharded": case("grpo", micro=3, sharded=True),
        "sharded, few rows and modules": case("ppo", prompts=2, group=2, sharded=True),
        "sharded, direct": case("whole", plugins=(str(file),), sharded=True),
    }


@pytest.fixture(scope="module")
def expected(cases):
    return alone(cases)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_ranks_see_the_same_batch_and_sum_up_to_the_same_gradient(cases, expected, size):
    ranks = in_ranks(size, steps, cases)
    for name, want in expected.items():
        tolerance = 1e-5 if name == "single" else 1e-10
        first = ranks[0][name]
        for found in ranks:
            for field, x in want["rows"].items():
                got = found[name]["rows"][field]
                assert torch.equal(got, first["rows"][field]), (name, field)  # to the bit
                assert got.shape == x.shape
                torch.testing.assert_close(got, x, rtol=tolerance, atol=tolerance, equal_nan=True)
                if not x.is_floating_point():
                    assert torch.equal(got, x), (name, field)
            assert found[name]["spent"] == want["spent"]
            for mine, own, leaders in zip(want["gradients"], found[name]["gradients"], first["gradients"], strict=True):
                assert apart(mine, own) < tolerance, name
                assert all(map(torch.equal, own, leaders)), name
            for mine, own in zip(want["metrics"], found[name]["metrics"], strict=True):
                assert own == pytest.approx(mine, rel=tolerance, abs=tolerance)
        counts = [{**found[name]["counts"], "rows_replayed": 0} for found in ranks]  # a share may fit where all do not
        assert counts == [{**want["counts"], "rows_replayed": 0}] * size


def test_exchanges():
    found = in_ranks(3, exchanges)
    assert [one["agree"] for one in found] == ["of rank 0"] * 3
    assert [one["first"] for one in found] == [0] * 3
    assert [one["gather"] for one in found] == [[0, 1, 2]] * 3
    assert [one["total"].tolist() for one in found] == [[3.0, 3.0]] * 3
    assert [one["fault"] for one in found] == ["no luck"] * 3
    assert [one["gradients"] for one in found] == [[[106.0, 106.0], [5.0, 5.0], None]] * 3


def test_one_process_exchanges_nothing():
    found = exchanges(SOLO)
    assert found["gather"] == [0]
    assert found["gradients"] == [[101.0, 101.0], [5.0, 5.0], None]
    assert found["fault"] == "no luck"


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_shares_are_all_completions_once_in_order(size):
    requests = [
        Request("a", (1,), 3, first_rollout=2),
        Request("b", (1,), 0),
        Request("c", (1,), 1),
        Request("a", (1,), 2),
    ]
    asked = [(r.key, r.first_rollout + i) for r in requests for i in range(r.n)]
    shares = [share(requests, rank, size) for rank in range(size)]
    assert [(r.key, r.first_rollout + i) for mine in shares for r in mine for i in range(r.n)] == asked
    counts = [sum(r.n for r in mine) for mine in shares]
    assert max(counts) - min(counts) <= 1
