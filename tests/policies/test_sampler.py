import pytest
import torch

import harness.policies.sampler as module
from harness.errors import UsageError
from harness.policies.generic import GenericBackbone
from harness.policies.random import tiny_policy
from harness.policies.rollouts import Request
from harness.policies.sampler import Sampler

TEXTS = ("1+1=", "12+34-5=", "a", "99*9=")


@pytest.fixture(params=["lean", "generic"])
def policy(request):
    chosen = tiny_policy(dtype="float64")
    if request.param == "generic":
        chosen.backbone = GenericBackbone(chosen.model, chosen.precision)
    return chosen


def ask(policy, text, n=4, **changes):
    settings = {"key": text, "prompt_ids": tuple(policy.encode_prompt(text)), "n": n, "max_tokens": 12, **changes}
    return Request(**settings)


def recomputed(policy, rollouts):
    return policy.forward(
        rollouts.prompt_ids, rollouts.prompt_mask, rollouts.completion_ids, rollouts.lengths,
        temperature=rollouts.temperature, needs={"entropy"},
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log_probabilities_are_those_of_the_distribution_sampled_from(dtype):
    policy = tiny_policy(dtype=dtype)
    requests = [ask(policy, text, temperature=t) for text, t in zip(TEXTS, (0.6, 0.6, 1.0, 1.7), strict=True)]
    rollouts = Sampler(policy).generate(requests, seed=0, step=0, want_entropy=True)
    out = recomputed(policy, rollouts)
    assert torch.allclose(out.logp, rollouts.logp, atol=1e-4)
    assert torch.allclose(out.entropy, rollouts.entropy, atol=1e-4)
    assert rollouts.logp.dtype == policy.dtype


def test_a_row_alone_equals_the_row_in_a_ragged_batch(policy):
    requests = [ask(policy, text) for text in TEXTS]
    together = Sampler(policy).generate(requests, seed=3, step=5)
    for number, request in enumerate(requests):
        alone = Sampler(policy).generate([request], seed=3, step=5)
        mine = (together.index == number).nonzero()[:, 0]
        width = alone.completion_ids.shape[1]
        assert torch.equal(alone.lengths, together.lengths[mine])
        assert torch.equal(alone.completion_ids, together.completion_ids[mine, :width])
        assert torch.allclose(alone.logp, together.logp[mine, :width], atol=1e-9)


def test_order_of_requests_and_their_split_change_nothing(policy):
    whole = Sampler(policy).generate([ask(policy, text) for text in TEXTS], seed=0, step=1)
    parts = [ask(policy, text, n=2, first_rollout=first) for first in (2, 0) for text in reversed(TEXTS)]
    other = Sampler(policy).generate(parts, seed=0, step=1)

    def lines(r):
        return {(r.request(i).key, int(r.rollout[i])): r.texts[i] for i in range(len(r))}

    assert lines(whole) == lines(other)


def test_chunks_change_nothing(policy, monkeypatch):
    requests = [ask(policy, text) for text in TEXTS]
    whole = Sampler(policy).generate(requests, seed=0, step=1)
    monkeypatch.setattr("harness.policies.limits.MAX_ROWS", 5)
    assert Sampler(policy).generate(requests, seed=0, step=1).texts == whole.texts


def test_leaving_rows_early_changes_nothing(policy, monkeypatch):
    policy.stop_ids = tuple(range(2, 30))
    requests = [ask(policy, text, n=16) for text in TEXTS]
    results = []
    for share in (1.0, 0.5, 0.0):
        monkeypatch.setattr(module, "KEEP", share)
        results.append(Sampler(policy).generate(requests, seed=0, step=1))
    assert results[0].texts == results[1].texts == results[2].texts
    assert len(set(results[0].lengths.tolist())) > 4


def test_noise_of_seed_step_round_and_stream(policy):
    requests = [ask(policy, TEXTS[0])]
    reference = Sampler(policy).generate(requests, seed=0, step=0).texts
    assert len(set(reference)) == 4
    for change in ({"seed": 1}, {"step": 1}, {"round": 1}, {"stream": "evaluation"}):
        assert Sampler(policy).generate(requests, **{"seed": 0, "step": 0, **change}).texts != reference


def test_global_random_state_is_neither_read_nor_moved(policy):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = Sampler(policy).generate([ask(policy, "a")], seed=0, step=0)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(2)
    assert Sampler(policy).generate([ask(policy, "a")], seed=0, step=0).texts == first.texts


def test_pad_is_eos_two_stop_ids_three_ways_to_finish(policy):
    policy.pad_id = 2  # the tokenizer's end token pads
    policy.stop_ids = (2, *policy.encode("3"))
    rollouts = Sampler(policy).generate([ask(policy, "1+1=", n=300, max_tokens=25)], seed=0, step=0)
    ends = {2: 0, policy.stop_ids[1]: 0, "truncated": 0}
    for row in range(len(rollouts)):
        ids = rollouts.ids(row)
        assert not set(ids[:-1]) & set(policy.stop_ids)  # nothing after the first end token
        assert rollouts.completion_ids[row, len(ids) :].eq(2).all()
        assert int(rollouts.mask[row].sum()) == len(ids)  # the end token is in the mask, padding is not
        assert bool(rollouts.truncated[row]) == (ids[-1] not in policy.stop_ids)
        ends["truncated" if rollouts.truncated[row] else ids[-1]] += 1
        assert rollouts.texts[row] == policy.decode(ids if rollouts.truncated[row] else ids[:-1])
    assert min(ends.values()) > 20
    assert torch.allclose(recomputed(policy, rollouts).logp, rollouts.logp, atol=1e-6)


def test_greedy_takes_the_likeliest_token(policy):
    rollouts = Sampler(policy).generate(
        [ask(policy, "1+1=", n=2, greedy=True), ask(policy, "1+1=", first_rollout=2)], seed=0, step=0
    )
    assert rollouts.texts[0] == rollouts.texts[1]
    ids = list(rollouts.requests[0].prompt_ids)
    for token in rollouts.ids(0):
        logits = policy.model(torch.tensor([ids])).logits[0, -1]
        assert int(logits.argmax()) == token
        ids.append(token)
    assert len(set(rollouts.texts)) > 2


def test_completions_of_length_zero_and_no_completions(policy):
    requests = [ask(policy, "1+1=", max_tokens=0), ask(policy, "a", n=0), ask(policy, "99*9=", n=1, max_tokens=3)]
    rollouts = Sampler(policy).generate(requests, seed=0, step=0)
    assert rollouts.lengths.tolist()[:4] == [0, 0, 0, 0]
    assert rollouts.texts[:4] == ("",) * 4
    assert rollouts.truncated[:4].all()
    assert rollouts.index.tolist() == [0, 0, 0, 0, 2]
    empty = Sampler(policy).generate(requests[:2], seed=0, step=0)
    assert empty.completion_ids.shape == (4, 0)
    assert recomputed(policy, empty).logp.shape == (4, 0)
    assert len(Sampler(policy).generate([], seed=0, step=0)) == 0


def test_prefixes_keep_their_numbers_and_are_not_charged(policy):
    policy.stop_ids = ()
    first = Sampler(policy).generate([ask(policy, text, n=2) for text in TEXTS], seed=0, step=0)
    again = Sampler(policy).generate(first.branch(5), seed=0, step=0)
    assert again.texts == first.texts  # the same place in the noise: the same continuation
    assert torch.allclose(again.logp, first.logp, atol=1e-9)
    assert again.generated.tolist() == [7] * 8
    assert again.lengths.tolist() == [12] * 8
    other = Sampler(policy).generate(first.branch(5, n=3, rows=[1, 6]), seed=0, step=0, round=1)
    assert other.rollout.tolist() == [3, 4, 5, 0, 1, 2]
    assert torch.equal(other.completion_ids[:3, :5], first.completion_ids[[1] * 3, :5])
    assert torch.equal(other.logp[3:, :5], first.logp[[6] * 3, :5])
    assert len({other.texts[i] for i in range(3)}) == 3
    assert torch.allclose(recomputed(policy, other).logp, other.logp, atol=1e-6)


def test_a_prefix_that_ended_is_not_continued(policy):
    stop = policy.stop_ids[0]
    done = ask(policy, "a", n=1, prefix=(5, stop), prefix_logp=(-1.0, -2.0), prefix_mask=(0.0, 1.0))
    full = ask(policy, "a", n=1, prefix=(5,) * 12)
    rollouts = Sampler(policy).generate([done, full], seed=0, step=0)
    assert rollouts.generated.tolist() == [0, 0]
    assert rollouts.truncated.tolist() == [False, True]
    assert rollouts.mask[0, :2].tolist() == [0.0, 1.0]
    assert rollouts.logp[0, :2].tolist() == [-1.0, -2.0]
    assert rollouts.texts[0] == policy.decode([5])


def test_token_texts_join_to_the_text(policy):
    rollouts = Sampler(policy).generate([ask(policy, "1+1=")], seed=0, step=0)
    for row in range(4):
        spoken = rollouts.token_texts(row)[: None if rollouts.truncated[row] else -1]
        assert "".join(spoken) == rollouts.texts[row]


def test_too_long_for_the_context_is_one_line(policy):
    with pytest.raises(UsageError, match=r"prompt 'a': 2 prompt tokens and max_tokens=600 .* context of 512"):
        Sampler(policy).generate([ask(policy, "a", max_tokens=600)], seed=0, step=0)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"temperature": 0.0}, "ask for greedy=True"),
        ({"n": -1}, "must not be negative"),
        ({"prompt_ids": ()}, "the prompt has no tokens"),
        ({"prefix": (5, 6), "prefix_logp": (0.0,)}, "prefix_logp has 1 values for 2 tokens"),
    ],
)
def test_bad_requests_are_refused(policy, change, text):
    with pytest.raises(UsageError, match=text):
        ask(policy, "a", **change)
