import pytest
import torch
from harness_papers.preference.affirmative_nudge import AffirmativeNudge, EpistemicHead, most_uncertain

from harness import Groups, PolicyOutput, probe
from harness.errors import HarnessError
from tests.batches import make_batch

approx = pytest.approx
ODDS = 0.8472978603872037  # log(0.7 / 0.3)


def test_signals_of_a_pair_worked_by_hand():
    fields = {"estimate": [0.0, 5.0, ODDS], "compared": [True, False, True]}
    found = probe.advantages("affirmative-nudge", [0.0] * 3, [0] * 3, **fields)
    assert found == approx([-0.18, 0, 0.22])
    found = probe.advantages("affirmative-nudge(nudge=0)", [0.0] * 3, [0] * 3, **fields)
    assert found.sum() == approx(0)
    with pytest.raises(HarnessError, match="compared"):
        probe.advantages("affirmative-nudge", [0.0], [0])


def test_the_loss_is_reinforce_on_sums_of_tokens_of_the_pair():
    fields = {"estimate": [0.0, 5.0, ODDS], "compared": [True, False, True], "logp_ref": [[0.0, 0.0]] * 3}
    moved = {"logp": [[0.9, 0.0], [0.0, 0.0], [-0.9, 0.3]], "logp_old": [[0.0, 0.0]] * 3}
    _, gradient = probe.loss(
        "affirmative-nudge", rewards=[0.0] * 3, group=[0] * 3, mask=[[1, 0], [1, 1], [1, 1]], **moved, **fields
    )
    assert gradient.tolist() == [approx([0.09, 0]), approx([0, 0]), approx([-0.11, -0.11])]


def test_the_most_uncertain_pair_is_compared():
    # Particles agree on rows 0 and 1 and disagree on which of 0 and 2 is better.
    particles = torch.tensor([[0.0, 0.0], [0.1, 0.1], [2.2, -2.2], [9.0, -9.0], [0, 0], [0, 0]])
    chosen = most_uncertain(Groups(torch.tensor([0, 0, 0, 1, 2, 2])), particles)
    assert chosen.tolist() == [True, False, True, False, True, True]
    assert most_uncertain(Groups(torch.zeros(0, dtype=torch.long)), particles[:0]).shape == (0,)


def test_only_the_pair_trains_the_policy_and_the_reward_model():
    batch = make_batch([1.0, 0.5, 0.0], [0, 0, 0])
    batch = batch.with_extras(compared=torch.tensor([True, False, True]), preferred=batch.reward)
    scores = torch.zeros(3, 4, requires_grad=True)
    output = PolicyOutput(logp=batch.logp_old, logp_old=batch.logp_old, mask=batch.mask, modules={"epistemic": scores})
    loss = AffirmativeNudge().regularize(batch, output)
    assert float(loss.detach()) == approx(0.6931, abs=1e-4)
    loss.backward()
    assert scores.grad[:, 0].tolist() == approx([-0.125, 0, 0.125])
    assert AffirmativeNudge().train_on(batch).tolist() == [True, False, True]


def test_particles_differ_by_their_priors():
    head, batch = EpistemicHead(4, 3, 8, torch.Generator().manual_seed(0)), make_batch([1.0, 0.0])
    assert sorted(dict(head.named_parameters())) == ["linear.bias", "linear.weight"]
    torch.nn.init.zeros_(head.linear.weight)
    found = head(batch, torch.ones(*batch.mask.shape, 4))
    assert found[0, 0] == 0
    assert len(set(found[0, 1:].tolist())) == 3
