import math
from types import SimpleNamespace

import pytest
import torch
from harness_papers.rewards.urpo import URPO, agreement

from tests.batches import make_batch
from tests.papers.steps import begun, take

approx = pytest.approx
NAN = math.nan


@pytest.mark.parametrize(
    ("said", "gold", "expected"),
    [([3, 1, 2], [3, 1, 2], 1), ([1, 3, 2], [3, 1, 2], -1), ([2, 1], [1, 0], 1), ([1, 1], [1, 0], -1),
     ([3, 1, 2], [1, 0, 0], 1), ([1, 2], [0, 0], 0), ([3, 2, 1], [3, 1, 2], 1 / 3)],
)  # fmt: skip
def test_agreement_of_orders(said, gold, expected):
    assert agreement(said, gold) == approx(expected)


def unified(plugin, scores, rewards=(1.0, 0.0)):
    batch = make_batch([*rewards, 0.0, 0.0], [0] * 4)
    tensors = {"role": torch.tensor([0, 0, 1, 1]), "scores": torch.tensor(scores, dtype=torch.float64)}
    plugin.start()
    plugin.asked = {"t:0": [0, 1]}
    return plugin.augment(batch.with_extras(**tensors)).extras["unified"].tolist()


def test_judges_learn_the_order_where_it_is_known():
    scores = [[NAN, NAN], [NAN, NAN], [9.0, 2.0], [NAN, NAN]]
    assert unified(URPO(open=0.0), scores) == approx([1, 0, 1, 0])


def test_judges_reward_where_it_is_not():
    scores = [[NAN, NAN], [NAN, NAN], [9.0, 2.0], [7.0, 4.0]]
    found = unified(URPO(open=1.0), scores)
    assert found[:2] == approx([0.8, 0.3])
    assert all(map(math.isnan, found[2:]))
    assert all(map(math.isnan, unified(URPO(open=1.0), [[NAN, NAN]] * 4)))


def test_prompts_with_an_order_or_open_ones_are_asked():
    policy = SimpleNamespace(stop_ids=(), decode=lambda ids: str(len(ids)))
    state = SimpleNamespace(policy=policy, request=lambda key, n, text: (key, n, text))
    batch = make_batch([1.0, 0.0, 0.5, 0.5], [0, 0, 1, 1])
    plugin = URPO(open=0.0)
    plugin.start()
    assert plugin.next_round(batch, 0, state) == [("t:0", 4, "0=\n1\n2\nscores 0-10:")]
    assert len(URPO(open=1.0).next_round(batch, 0, state)) == 2
    assert plugin.next_round(batch, 1, state) is None


def test_a_judgment_needs_a_score_for_every_answer():
    plugin = URPO()
    plugin.start()
    plugin.asked = {"a": [0, 1]}
    rollouts = SimpleNamespace(
        requests=[SimpleNamespace(key="a")], index=torch.tensor([0, 0]), texts=("7, 2", "7"), mask=torch.ones(2, 1),
        logp=torch.zeros(2, 1), extras={},
    )  # fmt: skip
    rollouts.replace = lambda extras: SimpleNamespace(**vars(rollouts) | {"extras": extras})
    wrapper = plugin.generate(SimpleNamespace(round=1))
    next(wrapper)
    with pytest.raises(StopIteration) as stopped:
        wrapper.send(rollouts)
    assert stopped.value.value.extras["scores"].nan_to_num(-1).tolist() == [[7, 2], [-1, -1]]


def test_it_trains():
    assert take(begun("urpo(open=0.5)"), 2)
