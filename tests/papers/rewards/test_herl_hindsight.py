from types import SimpleNamespace

import numpy as np
import pytest
import torch
from harness_papers.rewards.herl_hindsight import HeRL

from harness import probe
from tests.batches import make_batch

approx = pytest.approx


def state():
    policy = SimpleNamespace(decode=lambda ids: f"<{len(ids)}>", stop_ids=(0,))
    return SimpleNamespace(
        policy=policy, generator=torch.Generator().manual_seed(0),
        request=lambda key, n, text, temperature: (key, n, text, temperature),
    )  # fmt: skip


def gathered():
    """Two prompts with two originals each, of which the first failed; then the rewrites of its two originals."""
    rewards = [0.4, 0.2, 1.0, 0.0, 0.8, 0.1]
    return make_batch(
        rewards, [0, 0, 1, 1, 0, 0], [2, 2, 1, 1, 3, 1],
        rollout=torch.tensor([0, 1, 0, 1, 2, 3]), round=torch.tensor([0, 0, 0, 0, 1, 1]),
        prompt_ids=torch.tensor([[1], [1], [2], [2], [9], [9]]), prompt_mask=torch.ones(6, 1, dtype=torch.float64),
    )  # fmt: skip


def started(**params):
    plugin = HeRL(**params)
    plugin.start()
    return plugin


def test_failed_prompts_are_asked_again_with_what_was_missed():
    plugin, batch = started(), gathered()[:4]
    asked = plugin.next_round(batch, 0, state())
    assert [request[:2] for request in asked] == [("t:0", 1), ("t:0", 1)]
    assert asked[0][2:] == ("0=<1>\nnot r0\n0=", 0.3)
    assert plugin.sources == {"t:0": [0, 1]}
    assert plugin.next_round(batch, 1, state()) is None
    assert plugin.sources


def test_a_good_rewrite_takes_a_place_under_the_plain_prompt():
    plugin, batch = started(), gathered()
    plugin.next_round(batch[:4], 0, state())
    grown = plugin.augment(batch, state())
    assert grown.prompt.tolist().count(0) == grown.prompt.tolist().count(1) == 2
    taken = grown.extras["rewritten"]
    assert grown.reward[taken].tolist() == [0.8]
    assert grown.prompt_ids[taken].tolist() == [[1]]
    gains = dict(zip(grown.reward.tolist(), grown.extras["hindsight"].tolist(), strict=True))
    assert {reward: approx(gain) for reward, gain in gains.items()} == {
        **({0.4: 0.4} if 0.4 in gains else {0.2: -0.1}), 1.0: 0, 0.0: 0, 0.8: 0,
    }  # fmt: skip


def test_the_order_of_rows_decides_nothing():
    plugin, batch = started(), gathered()
    plugin.next_round(batch[:4], 0, state())
    plain, turned = plugin.augment(batch, state()), plugin.augment(batch[[5, 4, 3, 2, 1, 0]], state())
    assert sorted(plain.reward.tolist()) == sorted(turned.reward.tolist())
    assert sorted(plain.extras["hindsight"].tolist()) == approx(sorted(turned.extras["hindsight"].tolist()))


def test_rewrites_that_are_no_better_leave_the_group_alone():
    plugin, batch = started(), gathered()
    plugin.next_round(batch[:4], 0, state())
    worse = batch.replace(rewards=batch.rewards * (1 - 0.9 * (batch.round > 0).double()[:, None]))
    grown = plugin.augment(worse, state())
    assert grown.reward.tolist() == batch.reward[:4].tolist()
    assert not grown.extras["rewritten"].any()
    assert len(plugin.augment(batch[:4], state())) == 4


def test_originals_earn_a_share_of_what_the_hint_gained():
    found = probe.total_reward("herl-hindsight", [0.4, 1.0], [0, 1], hindsight=[0.4, 0.0])[0]
    assert found == approx([0.42, 1.0])


def test_rewrites_have_a_bounded_weight_with_gradient():
    fields = {"logp": [[-1.0], [-1.0]], "logp_old": [[-1.0], [-1.0]], "mask": [[1], [1]], "advantages": [1.0, 1.0]}
    fields |= {"logp_sampler": [[-1.0], [-1.0]], "rewritten": np.array([True, False])}
    value, gradient = probe.token_loss("herl-hindsight", **fields)
    assert value[:, 0] == approx([-0.5, -1])
    assert gradient[:, 0] == approx([-0.25, -1])
    unknown = probe.token_loss("herl-hindsight(behaviour=False)", **fields)[0]
    assert unknown[0, 0] == approx(-np.exp(-1) / (np.exp(-1) + 1))
