"""The parts of sampling methods that a short trial does not come to."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from harness_papers.sampling.ar3po import AR3PO
from harness_papers.sampling.tree_grpo import TreeGRPO
from harness_papers.sampling.vade import VADE

from harness import Groups, PromptRecord
from tests.batches import make_batch


def state(step=0, **fields):
    return SimpleNamespace(step=step, generator=torch.Generator().manual_seed(step), group_size=4, **fields)


def answers(correct, keys, **fields):
    """One group a key, right and wrong as given."""
    group = [g for g, row in enumerate(correct) for _ in row]
    records = tuple(PromptRecord(key=keys[g], text="", task="t") for g in group)
    rewards = [float(x) for row in correct for x in row]
    return make_batch(rewards, group, prompts=records, **fields)


class TestAR3PO:
    def grown(self, **params):
        plugin = AR3PO(**params)
        plugin.start()
        first = plugin.augment(answers([[1, 0], [0, 0]], "ab"), state(3))
        assert len(first) == 4
        assert not first.extras["replayed"].any()
        second = plugin.augment(answers([[0, 0, 0], [0, 0, 0], [0, 1]], "bac"), state(5))
        return plugin, second

    def test_an_unsolved_prompt_borrows_its_own_old_solution(self):
        plugin, batch = self.grown()
        borrowed = batch[batch.extras["replayed"]]
        assert len(batch) == 8
        assert [record.key for record in borrowed.prompts] == ["a"]
        assert borrowed.prompt.tolist() == [1]
        assert borrowed.group_keys.tolist() == [1]
        assert borrowed.age.tolist() == [2]
        assert borrowed.correct.all()
        assert batch.groups.count(expand=False).tolist() == [3, 3, 2]
        assert batch.logp_old is None
        assert plugin.train_on(batch).tolist() == (~batch.extras["replayed"]).tolist()
        assert plugin.end_step(batch) == {"replayed": 1.0, "remembered": 2.0}

    def test_what_was_borrowed_trains_only_when_asked(self):
        plugin, batch = self.grown(train_replayed=True)
        assert plugin.train_on(batch).all()

    def test_memory_is_bounded_and_keeps_the_newest(self):
        plugin = AR3PO(memory=2)
        plugin.start()
        for number in range(4):
            plugin.augment(answers([[1, 1], [1, 0]], "ab"), state(number))
        keys = [record.key for record in plugin.solved[0].prompts]
        assert sorted(keys) == ["a", "a", "b", "b"]
        ages = [int(age) for age, key in zip(plugin.solved[0].age, keys, strict=True) if key == "a"]
        assert ages == [-3, -3]

    def test_stages(self):
        asked = []
        plugin = AR3PO(stages=2)
        now = state(request=lambda key, n: asked.append((key, n)))
        batch = answers([[1, 0], [0, 0], [0, 0, 0, 0]], "abc")
        assert plugin.next_round(batch, 0, now) is not None
        assert asked == [("b", 2)]
        assert plugin.next_round(batch, 1, now) is None


class TestVADE:
    def pool(self, count):
        return SimpleNamespace(keys=tuple(f"k{i}" for i in range(count)))

    def test_prompts_of_a_third_are_asked_most(self):
        plugin = VADE()
        plugin.start()
        plugin.counts = torch.tensor([[1, 999], [333, 667], [500, 500], [999, 1]], dtype=torch.float64)
        picked = []
        for number in range(8):
            plugin.chosen = {}
            picked += plugin.select_prompts(self.pool(4), 1, state(number))
        assert set(picked) == {"k1"}

    def test_a_step_never_asks_twice_unless_the_pool_is_too_small(self):
        plugin = VADE()
        plugin.start()
        first = plugin.select_prompts(self.pool(6), 4, state())
        later = plugin.select_prompts(self.pool(6), 2, state(1))
        assert sorted(first + later) == sorted(self.pool(6).keys)
        plugin.chosen = {}
        assert len(plugin.select_prompts(self.pool(6), 9, state(2))) == 9

    @pytest.mark.parametrize("decay", [1.0, 0.5])
    def test_counts_and_their_decay(self, decay):
        plugin = VADE(decay=decay, forget=decay)
        plugin.start()
        plugin.counts = torch.full((3, 2), 3.0, dtype=torch.float64)
        plugin.chosen = {"a": 2, "b": 0}
        plugin.end_step(state(gathered=answers([[1, 0, 0], [1, 1]], "ab")))
        expected = np.array([[3 * decay + 2, 3 * decay], [1 + 2 * decay] * 2, [3 * decay + 1, 3 * decay + 2]])
        assert plugin.counts.numpy() == pytest.approx(expected)
        assert plugin.chosen == {}


class TestTreeGRPO:
    def test_within_and_across(self):
        rewards = torch.tensor([1.0, 0.0, 1.0, 1.0], dtype=torch.float64)
        tree = torch.tensor([0, 0, 1, 1])
        batch = make_batch(rewards).with_extras(tree=tree)
        got = TreeGRPO().estimate_advantages(batch)
        across = Groups(torch.zeros(4, dtype=torch.long)).standardize(rewards)
        torch.testing.assert_close(got, across + Groups(tree).standardize(rewards))
        one = make_batch(rewards).with_extras(tree=torch.zeros(4, dtype=torch.long))
        torch.testing.assert_close(TreeGRPO().estimate_advantages(one), 2 * across)
        lone = make_batch(rewards).with_extras(tree=torch.arange(4))
        torch.testing.assert_close(TreeGRPO().estimate_advantages(lone), across)
