"""What hooks receive: derived rewards, indexing, and putting batches under one another."""

import math

import pytest
import torch

from harness import Batch, PolicyOutput
from tests.batches import make_batch

NAN = float("nan")


def test_reward_leaves_out_what_does_not_apply():
    batch = make_batch([[1.0, 2.0], [NAN, 3.0], [NAN, NAN]], reward_weights=torch.tensor([1.0, 0.5]).double())
    assert batch.reward.tolist() == [2.0, 1.5, 0.0]


def test_outcomes_sit_on_the_last_token_and_token_columns_where_they_are():
    batch = make_batch([1.0, 0.0], lengths=[2, 0], tokens=3)
    assert batch.token_rewards.tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    steps = torch.tensor([[0.5, 0.25, 9.0], [9.0, 9.0, 9.0]], dtype=torch.float64)
    more = batch.add_reward("steps", steps, weight=2.0)
    assert more.reward_names == ("r0", "steps")
    assert more.reward.tolist() == [2.5, 0.0]
    assert more.token_rewards[0, :2].tolist() == [1.0, 1.5]
    with pytest.raises(ValueError, match="exists already"):
        more.add_reward("steps", steps)
    with pytest.raises(ValueError, match="has shape"):
        more.add_reward("other", torch.zeros(3))


def test_sequence_statistics_ignore_what_is_masked():
    batch = make_batch([1.0, 0.0], lengths=[2, 0], tokens=3)
    x = torch.tensor([[1.0, 2.0, NAN], [math.inf, NAN, NAN]], dtype=torch.float64)
    assert batch.sequence_sum(x).tolist() == [3.0, 0.0]
    assert batch.sequence_mean(x).tolist() == [1.5, 0.0]


def test_advantage_is_the_masked_mean():
    batch = make_batch([1.0, 0.0], lengths=[2, 1])
    with pytest.raises(AttributeError, match="after estimate_advantages"):
        _ = batch.advantage
    tokens = torch.tensor([[1.0, 3.0], [5.0, NAN]], dtype=torch.float64)
    assert batch.replace(advantages=tokens).advantage.tolist() == [2.0, 5.0]
    assert batch.replace(advantages=tokens[:, :1]).advantage.tolist() == [1.0, 5.0]


def test_indexing_takes_every_row_field_along():
    batch = make_batch(group=[0, 0, 1, 1]).with_extras(mark=torch.arange(4))
    chosen = batch[torch.tensor([False, True, False, True])]
    assert len(chosen) == 2
    assert chosen.extras["mark"].tolist() == [1, 3]
    assert [record.key for record in chosen.prompts] == ["t:0", "t:1"]
    assert chosen.entropy.shape == (2, batch.tokens)
    assert batch[[3, 0]].extras["mark"].tolist() == [3, 0]
    assert len(batch[1:3]) == 2
    assert len(batch[torch.zeros(4, dtype=torch.bool)]) == 0


def test_extras_are_never_overwritten():
    batch = make_batch().with_extras(mark=torch.arange(4))
    with pytest.raises(ValueError, match="never overwritten"):
        batch.with_extras(mark=torch.zeros(4))


class TestCat:
    def test_pads_prompts_left_and_completions_right(self):
        short, long = make_batch([1.0], lengths=[1]), make_batch([0.0, 1.0], lengths=[3, 2], seed=1)
        long = long.replace(prompt_ids=torch.full((2, 4), 7), prompt_mask=torch.ones(2, 4).double(), max_tokens=9)
        both = Batch.cat([short, long])
        assert both.mask.tolist() == [[1, 0, 0], [1, 1, 1], [1, 1, 0]]
        assert both.prompt_ids[0].tolist() == [0, 0, 1, 1]
        assert both.prompt_mask[0].tolist() == [0, 0, 1, 1]
        assert both.max_tokens == 9
        assert [r.key for r in both.prompts] == ["t:0"] * 3
        for name in ("logp_old", "logp_ref", "entropy", "logp_sampler"):
            torch.testing.assert_close(getattr(both, name)[:1, :1], getattr(short, name))
            torch.testing.assert_close(getattr(both, name)[1:], getattr(long, name))

    def test_one_batch_is_itself_and_none_is_an_error(self):
        batch = make_batch()
        assert Batch.cat([batch]) is batch
        with pytest.raises(ValueError, match="no batches"):
            Batch.cat([])

    def test_split_and_cat_is_the_identity(self):
        batch = make_batch(group=[0, 1, 0, 1]).add_reward("steps", torch.rand(4, 3).double())
        batch = batch.with_extras(mark=torch.arange(4), tokens=torch.rand(4, 3))
        again = Batch.cat([batch[:1], batch[1:3], batch[3:]])
        for name in ("rewards", "mask", "completion_ids", "group_keys", "correct", "logp_old", "entropy"):
            torch.testing.assert_close(getattr(again, name), getattr(batch, name))
        torch.testing.assert_close(again.token_columns["steps"], batch.token_columns["steps"])
        torch.testing.assert_close(again.extras["tokens"], batch.extras["tokens"])
        assert again.extras["mark"].tolist() == [0, 1, 2, 3]

    def test_columns_are_united_and_missing_ones_do_not_apply(self):
        plain, more = make_batch([1.0]), make_batch([0.0, 1.0]).add_reward("bonus", torch.ones(2).double(), weight=0.5)
        both = Batch.cat([plain, more])
        assert both.reward_names == ("r0", "bonus")
        assert both.rewards[:, 1].isnan().tolist() == [True, False, False]
        assert both.reward.tolist() == [1.0, 0.5, 1.5]
        with pytest.raises(ValueError, match="has weight"):
            Batch.cat([more, more.replace(reward_weights=torch.tensor([1.0, 2.0]))])

    def test_token_columns_must_agree_in_kind(self):
        outcome = make_batch([1.0]).add_reward("kl", torch.ones(1).double())
        token = make_batch([1.0]).add_reward("kl", torch.ones(1, 1).double())
        with pytest.raises(ValueError, match="per token in one batch"):
            Batch.cat([outcome, token])
        united = Batch.cat([make_batch([1.0]), token])
        assert united.token_rewards.tolist() == [[1.0], [2.0]]

    def test_optional_fields_survive_only_where_all_have_them(self):
        known = make_batch([1.0, 0.0], lengths=[1, 2], advantages=torch.ones(2, 1).double())
        other = make_batch([1.0], lengths=[3], advantages=torch.ones(1, 3).double(), logp_old=None)
        both = Batch.cat([known, other])
        assert both.logp_old is None
        assert both.logp_ref is not None
        assert both.advantages.tolist() == [[1, 1, 0], [1, 1, 0], [1, 1, 1]]

    def test_extras_of_some_are_blank_for_the_others(self):
        marked = make_batch([1.0]).with_extras(score=torch.ones(1), flag=torch.ones(1, dtype=torch.bool))
        both = Batch.cat([make_batch([0.0]), marked])
        assert both.extras["score"].isnan().tolist() == [True, False]
        assert both.extras["flag"].tolist() == [False, True]

    def test_what_cannot_stand_under_one_another_is_named(self):
        pair = make_batch([1.0], group_keys=torch.zeros(1, 2, dtype=torch.long))
        with pytest.raises(ValueError, match="group keys"):
            Batch.cat([make_batch([1.0]), pair])
        with pytest.raises(ValueError, match="'x' has shapes"):
            Batch.cat(
                [
                    make_batch([1.0], tokens=3).with_extras(x=torch.ones(1, 2)),
                    make_batch([1.0], tokens=3).with_extras(x=torch.ones(1, 4)),
                ]
            )


def test_ratios_are_one_where_masked_and_never_overflow():
    mask = torch.tensor([[1.0, 1.0, 0.0]])
    logp, old = torch.tensor([[0.5, 90.0, NAN]]), torch.tensor([[0.0, -90.0, 0.0]])
    output = PolicyOutput(logp=logp, logp_old=old, mask=mask)
    assert output.log_ratio.tolist() == [[0.5, 20.0, 0.0]]
    assert output.ratio[0, 2] == 1.0
