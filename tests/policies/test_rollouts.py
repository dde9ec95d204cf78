import torch

from harness.policies.random import tiny_policy
from harness.policies.rollouts import Request, Rollouts
from harness.policies.sampler import Sampler


def sample(texts, policy, **changes):
    requests = [
        Request(key=text, prompt_ids=tuple(policy.encode_prompt(text)), n=2, **{"max_tokens": 9, **changes})
        for text in texts
    ]
    return Sampler(policy).generate(requests, seed=0, step=0, want_entropy=True)


def test_cat_pads_and_keeps_every_row():
    policy = tiny_policy()
    first, second = sample(["1+1="], policy, max_tokens=3), sample(["12+34=", "a"], policy)
    first = first.replace(extras={"draft": torch.ones(2, 3), "only": torch.ones(2)})
    second = second.replace(extras={"draft": torch.full((4, 9), 2.0)})
    both = Rollouts.cat([first, second])
    assert both.index.tolist() == [0, 0, 1, 1, 2, 2]
    assert [both.request(i).key for i in (0, 2, 4)] == ["1+1=", "12+34=", "a"]
    assert both.texts == first.texts + second.texts
    for row, (part, own) in enumerate([(first, 0), (first, 1), (second, 0), (second, 1), (second, 2), (second, 3)]):
        assert both.ids(row) == part.ids(own)
        assert (
            both.prompt_ids[row][both.prompt_mask[row]].tolist() == part.prompt_ids[own][part.prompt_mask[own]].tolist()
        )
        assert both.logp[row].sum() == part.logp[own].sum()
    assert set(both.extras) == {"draft"}
    assert both.extras["draft"].shape == (6, 9)
    assert both.entropy is not None


def test_branch_cuts_at_the_length():
    policy = tiny_policy()
    rollouts = sample(["1+1="], policy)
    requests = rollouts.branch([3, 100])
    assert [len(r.prefix) for r in requests] == [3, int(rollouts.lengths[1])]
    assert [r.first_rollout for r in requests] == [0, 1]
    assert requests[0].new_tokens == 6
