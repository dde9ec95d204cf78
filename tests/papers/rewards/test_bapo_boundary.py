from types import SimpleNamespace

import pytest
import torch
from harness_papers.rewards.bapo_boundary import BAPO

from harness import probe
from tests.batches import make_batch

approx = pytest.approx


def boundary(correct, abstains, **fields):
    plugin = fields.pop("params", {"rare": 0.3})
    extras = {"abstains": abstains, **fields}
    return probe.rewards("bapo-boundary", correct, [0] * 4, params=plugin, **extras)["boundary"].tolist()


IDK = [True, False, False, False]
CUT = [False, False, False, True]


def test_early_abstaining_pays_where_nobody_knows_and_few_abstain():
    assert boundary([0, 0, 0, 0], IDK, truncated=CUT) == [0.5, 0, 0, -1]
    assert boundary([0, 1, 0, 0], IDK) == [0, 1, 0, 0]
    assert boundary([0, 0, 0, 0], IDK, params={}) == [0, 0, 0, 0]


def test_late_it_pays_where_answers_have_settled():
    plugin = BAPO(patience=1, rare=0.0)
    plugin.start()
    for reward in (1.0, 0.0, 0.0):
        plugin.end_step(make_batch([reward]))
    assert plugin.late
    extras = {"abstains": torch.tensor(IDK), "answers": torch.tensor([9, 1, 1, 2])}
    assert plugin._allowed(make_batch([0.0] * 4, extras=extras), extras["abstains"]).all()
    strict = BAPO(patience=1, distinct=1)
    strict.best, strict.below = 1.0, 2
    assert not strict._allowed(make_batch([0.0] * 4, extras=extras), extras["abstains"]).any()


def test_what_counts_as_abstaining():
    texts = ("1+1=2;#2", "#", "#I don't know", "1+1=2;#", "")
    asked = SimpleNamespace(
        texts=texts, mask=torch.ones(5, 1), truncated=torch.tensor([False] * 4 + [True]),
        extras={"answers": torch.zeros(5)}, replace=lambda extras: extras,
    )  # fmt: skip
    wrapper = BAPO().generate()
    next(wrapper)
    with pytest.raises(StopIteration) as stopped:
        wrapper.send(asked)
    assert stopped.value.value["abstains"].tolist() == [False, True, True, True, False]


def test_unsolved_groups_are_sampled_anew():
    batch = make_batch([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0, 0, 1, 1, 2, 2])
    batch = batch.with_extras(abstains=torch.tensor([False] * 4 + [True, False]))
    state = SimpleNamespace(request=lambda key: key)
    assert BAPO().next_round(batch, 0, state) == ["t:0"]
    assert BAPO().next_round(batch, 2, state) is None
    again = batch.replace(round=torch.tensor([0, 1, 0, 0, 0, 0]))
    assert BAPO().keep(again).tolist() == [False, True, True, True, True, True]
