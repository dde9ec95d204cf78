"""What must hold for methods of every kind: padding and order change nothing, and no edge of a batch breaks it."""

import pytest
import torch

from harness.batching import pad_right
from tests.batches import make_batch
from tests.papers.chain import GROUP_RELATIVE, METHODS, run, sample

every = pytest.mark.parametrize("method", METHODS)


def padded(batch, extra=3):
    """The same completions under more columns, which hold noise."""
    width = batch.tokens + extra
    wide = {name: pad_right(getattr(batch, name), width, -7) for name in ("logp_sampler", "logp_old", "logp_ref")}
    values = pad_right(batch.extras["values"], width, 5)
    return batch.replace(
        **wide,
        mask=pad_right(batch.mask, width),
        completion_ids=pad_right(batch.completion_ids, width, 9),
        entropy=pad_right(batch.entropy, width, 3),
        extras={**batch.extras, "values": values},
    )


@every
def test_padding_changes_nothing(method):
    narrow, wide = run(method, sample()), run(method, padded(sample()))
    width = narrow.gradient.shape[1]
    assert wide.loss == pytest.approx(narrow.loss, abs=1e-9)
    torch.testing.assert_close(wide.advantages[:, :width], narrow.advantages)
    torch.testing.assert_close(wide.gradient[:, :width], narrow.gradient)
    assert not wide.gradient[:, width:].any()


@every
def test_order_of_rows_changes_nothing(method):
    order = torch.tensor([4, 0, 5, 2, 3, 1])
    batch = sample()
    straight, shuffled = run(method, batch), run(method, batch[order])
    assert shuffled.loss == pytest.approx(straight.loss, abs=1e-9)
    torch.testing.assert_close(shuffled.advantages, straight.advantages[order])
    torch.testing.assert_close(shuffled.gradient, straight.gradient[order])


@every
def test_names_of_groups_change_nothing(method):
    batch = sample()
    renamed = batch.replace(prompt=7 - batch.prompt)
    assert run(method, renamed).loss == pytest.approx(run(method, batch).loss, abs=1e-9)


EDGES = {
    "all equal": {"rewards": [0.3] * 6},
    "groups of one": {"group": range(6)},
    "some groups of one": {"group": [0, 1, 1, 1, 1, 2]},
    "no tokens": {"lengths": [0] * 6, "tokens": 0},
    "empty rows": {"lengths": [0] * 6, "tokens": 2},
    "all truncated": {"truncated": torch.ones(6, dtype=torch.bool)},
    "missing": {"rewards": [[float("nan")] * 2] * 3 + [[1.0, float("nan")]] * 2 + [[0.0, 0.5]]},
    "large": {"rewards": [1e6, -1e6, 0, 1e-6, 0, 0]},
    "a single row": {"rewards": [1.0], "group": [0], "lengths": [1]},
}


@every
@pytest.mark.parametrize("edge", EDGES)
def test_edges_stay_finite(method, edge):
    outcome = run(method, sample(**EDGES[edge]))
    assert torch.tensor(outcome.loss).isfinite()
    assert outcome.gradient.isfinite().all()
    assert outcome.advantages.isfinite().all()


@pytest.mark.parametrize("method", GROUP_RELATIVE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equal_rewards_give_exactly_nothing(method, dtype):
    """Six times 0.3, which float32 cannot write."""
    stack = (
        f"{method}(beta=0)"
        if method in {"grpo", "rloo"}
        else f"grpo(beta=0)+{method}"
        if method == "mc-grpo"
        else method
    )
    stack = "dapo(overlong=0)" if method == "dapo" else stack
    batch = make_batch([[0.3]] * 6, [0] * 6, dtype=dtype, round=torch.ones(6, dtype=torch.long))
    outcome = run(stack, batch.with_extras(values=batch.mask * 0, tree=torch.arange(6) % 2))
    assert not outcome.advantages.any()
    assert not outcome.gradient.any()


@pytest.mark.parametrize("method", GROUP_RELATIVE)
def test_a_group_of_one_has_no_advantage(method):
    stack = "rloo(beta=0)" if method == "rloo" else "dapo(overlong=0)" if method == "dapo" else method
    assert not run(stack, sample(group=range(6))).advantages.any()


@every
def test_a_completion_that_does_not_train_leaves_loss_and_gradient_of_the_others(method):
    """One empty row more changes nothing, but for the methods whose definition counts it."""
    batch = sample()
    kept = batch[torch.arange(5)]
    if method in {"dr-grpo", "delta-l", "mc-grpo"}:
        pytest.skip("counts empty completions by definition")
    one, other = run(method, kept.replace(prompt=torch.arange(5))), run(method, batch.replace(prompt=torch.arange(6)))
    torch.testing.assert_close(one.gradient.shape, other.gradient[:5].shape)
    if method not in {"reinforce", "gdpo", "grpo(scale='batch')"}:  # the empty row's reward is in the batch's mean
        torch.testing.assert_close(one.gradient, other.gradient[:5])


def test_no_method_touches_its_inputs_or_the_global_generator():
    for method in METHODS:
        batch = sample()
        copies = {name: getattr(batch, name).clone() for name in ("rewards", "mask", "logp_old", "prompt")}
        before = torch.random.get_rng_state()
        run(method, batch)
        assert torch.equal(torch.random.get_rng_state(), before)
        assert all(torch.equal(getattr(batch, name), copy) for name, copy in copies.items()), method
