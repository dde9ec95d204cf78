"""What happens where no plugin says otherwise."""

from types import SimpleNamespace

import pytest
import torch

from harness import PolicyOutput, method
from harness.defaults import Defaults
from harness.hookspecs import HOOKS
from harness.host.lint import implementations
from tests.batches import make_batch
from tests.host.plugins import caller


@pytest.fixture
def hooks():
    state = SimpleNamespace(step=3, group_size=8, request=lambda prompt, n: (prompt, n), hook="", updates_per_batch=1)
    return caller(method(type("Nothing", (), {})), state=state)


def test_every_first_result_hook_has_a_default():
    from harness.host.hidden import FIRST

    assert set(implementations(Defaults)) == FIRST | {"score"}
    assert set(HOOKS) > FIRST


def test_select_prompts_takes_the_slice_of_the_step(hooks):
    pool = SimpleNamespace(at_step=lambda step, count: [f"{step}:{i}" for i in range(count)], problem=lambda key: key)
    assert hooks.select_prompts(pool=pool, count=2) == ["3:0", "3:1"]


def test_allocate_rollouts_asks_for_the_group_size():
    made = []

    def request(prompt, n):
        made.append((prompt, n))
        return SimpleNamespace(key=prompt, n=n)

    state = SimpleNamespace(group_size=8, request=request, hook="")
    caller(method(type("Nothing", (), {})), state=state).allocate_rollouts(prompts=["a", "b"])
    assert made == [("a", 8), ("b", 8)]


def test_generate_samples_once(hooks):
    rollouts = SimpleNamespace(completion_ids=0, mask=0, logp=0, requests=())
    sampler = SimpleNamespace(generate=lambda requests: rollouts)
    assert hooks.generate(sampler=sampler, requests=[1]) is rollouts


def test_score_is_the_tasks(hooks):
    task = SimpleNamespace(score=lambda rollouts: {"correct": torch.ones(2)})
    assert hooks.score(rollouts=SimpleNamespace(mask=torch.ones(2, 3)), task=task)["correct"].tolist() == [1, 1]


def test_rows_pass_unchanged(hooks):
    batch = make_batch(group=[0, 0, 1, 1])
    assert torch.equal(hooks.group_by(batch=batch), batch.prompt)
    assert hooks.keep(batch=batch).all()
    assert hooks.next_round(batch=batch, round=0) is None
    assert hooks.augment(batch=batch) is batch
    assert hooks.annotate(batch=batch, policy=None) == {}
    assert hooks.shape_rewards(batch=batch) is batch
    assert hooks.train_on(batch=batch) is None


def test_advantages_are_centred_in_the_group(hooks):
    batch = make_batch([1.0, 0.0, 3.0, 2.0, 5.0], group=[0, 1, 0, 1, 2])
    assert hooks.estimate_advantages(batch=batch).tolist() == [[-1.0], [-1.0], [1.0], [1.0], [0.0]]


def test_weights_are_equal_over_all_tokens(hooks):
    batch = make_batch(lengths=[1, 3, 0, 2])
    weights = hooks.aggregate(batch=batch)
    assert torch.equal(weights, batch.mask / 6)
    empty = make_batch([1.0], lengths=[0])
    assert not hooks.aggregate(batch=empty).any()


def test_the_loss_is_ppos_clip(hooks):
    batch = make_batch([1.0, 0.0], lengths=[2, 2], tokens=2)
    batch = batch.replace(advantages=torch.tensor([[1.0], [-1.0]], dtype=torch.float64), weights=batch.mask / 4)
    log_ratio = torch.tensor([[0.5, 0.1], [-0.5, 0.5]], dtype=torch.float64)
    output = PolicyOutput(logp=batch.logp_old + log_ratio, logp_old=batch.logp_old, mask=batch.mask)
    expected = torch.tensor([[-1.2, -torch.tensor(0.1).exp()], [0.8, torch.tensor(0.5).exp()]], dtype=torch.float64)
    losses = hooks.policy_loss(batch=batch, output=output)
    torch.testing.assert_close(losses, expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(hooks.loss(batch=batch, output=output), losses.mean())
    assert hooks.regularize(batch=batch, output=output) == []


def test_update_runs_every_epoch(hooks):
    found = iter(
        [
            {"loss": 1.0, "log_ratio_max": 3.0, "tokens_trained": 5.0},
            {"loss": 2.0, "log_ratio_max": 1.0, "tokens_trained": 5.0},
        ]
    )
    learner = SimpleNamespace(epoch=lambda batch: next(found))
    assert hooks.update(learner=learner, batch=make_batch()) == {
        "loss": 1.0,
        "log_ratio_max": 3.0,
        "tokens_trained": 5.0,
    }
    found = iter(
        [
            {"loss": 1.0, "log_ratio_max": 3.0, "tokens_trained": 5.0},
            {"loss": 2.0, "log_ratio_max": 1.0, "tokens_trained": 5.0},
        ]
    )
    hooks.state.updates_per_batch = 2
    assert hooks.update(learner=learner, batch=make_batch()) == {
        "loss": 1.5,
        "log_ratio_max": 3.0,
        "tokens_trained": 10.0,
    }
