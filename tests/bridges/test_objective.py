"""A minibatch's gradient from micro-batches: the same as in one piece, for losses that couple rows too."""

from __future__ import annotations

import pytest
import torch

from harness import PolicyOutput, hookimpl, method
from harness.bridges.contract import as_stack
from harness.bridges.objective import objective, slopes
from harness.bridges.rows import make_batch as rows_batch
from harness.bridges.rows import records
from harness.errors import HarnessError
from tests.batches import make_batch


@method(needs={"entropy"})
class Coupled:
    """A loss that no sum over rows can express."""

    @hookimpl
    def loss(self, batch, output):
        per_row = (batch.weights * output.ratio * batch.advantages).sum(1)
        return torch.logsumexp(5 * per_row, 0) - (batch.weights * output.entropy).sum() ** 2

    @hookimpl
    def regularize(self, batch, output):
        return (output.ratio * batch.mask).mean() ** 2


def started(stack):
    hooks = as_stack(stack).caller(None)
    batch = make_batch(rewards=[1.0, 0.0, 0.3, 0.7, 0.2, 0.9], group=[0, 0, 0, 1, 1, 1])
    batch = batch.replace(advantages=hooks.estimate_advantages(batch=batch))
    return hooks, batch.replace(weights=hooks.aggregate(batch=batch))


def leaves(batch):
    noise = torch.Generator().manual_seed(1)
    shape = batch.mask.shape
    logp = (batch.logp_old + 0.2 * torch.randn(shape, generator=noise, dtype=torch.float64)).requires_grad_()
    return logp, torch.rand(shape, generator=noise, dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize("stack", [Coupled, "grpo(beta=0.04)", "gspo"])
@pytest.mark.parametrize("parts", [[[0, 1, 2, 3, 4, 5]], [[0, 1], [2, 3], [4, 5]], [[5], [0, 2, 4], [1, 3]]])
def test_shares_of_the_slopes_add_up_to_the_whole_gradient(stack, parts):
    hooks, batch = started(stack)
    logp, entropy = leaves(batch)
    output = PolicyOutput(logp=logp, logp_old=batch.logp_old, mask=batch.mask, entropy=entropy)
    whole = objective(hooks, batch, output)
    expected = torch.autograd.grad(whole, [logp, entropy], allow_unused=True, materialize_grads=True)
    found = slopes(hooks, batch, logp, entropy)
    rows = [torch.tensor(part) for part in parts]
    shares = [found.share(part, logp[part], entropy[part], len(parts)) for part in rows]
    total = torch.stack(shares).sum()
    given = torch.autograd.grad(total, [logp, entropy], allow_unused=True, materialize_grads=True)
    torch.testing.assert_close(given, expected, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(total.detach(), whole.detach())


def test_without_old_log_probabilities_the_ratio_is_one():
    hooks, batch = started("grpo(beta=0)")
    logp, _ = leaves(batch)
    found = slopes(hooks, batch.replace(logp_old=None), logp, None)
    torch.testing.assert_close(found.logp, -batch.weights * batch.advantages)


def test_rows_add_up_without_slopes_where_the_loss_is_a_sum_over_rows():
    hooks, batch = started("grpo(beta=0.04)")
    logp, _ = leaves(batch)

    def gradient(rows):
        part = batch[rows]
        output = PolicyOutput(logp=logp[rows], logp_old=part.logp_old, mask=part.mask)
        return torch.autograd.grad(objective(hooks, part, output, part=True), logp)[0]

    whole = slopes(hooks, batch, logp, None).logp
    torch.testing.assert_close(gradient([0, 1, 2]) + gradient([3, 4, 5]), whole)


def test_a_scalar_regularizer_cannot_be_shared_out():
    hooks, batch = started(Coupled)
    logp, entropy = leaves(batch)
    output = PolicyOutput(logp=logp, logp_old=batch.logp_old, mask=batch.mask, entropy=entropy)
    with pytest.raises(HarnessError, match="regularize of 'coupled' returns a scalar"):
        objective(hooks, batch, output, part=True)


def test_rows_are_numbered_within_their_prompt_and_what_nobody_knows_is_nan():
    prompt = torch.tensor([1, 0, 1, 1, 0])
    ones = torch.ones(5, 1)
    batch = rows_batch(
        mask=ones, prompt=prompt, rewards=ones, reward_names=("r",), reward_weights=ones[0], correct=ones[:, 0] > 0,
        max_tokens=1,
    )  # fmt: skip
    assert batch.rollout.tolist() == [0, 0, 1, 2, 1]
    assert batch.logp_sampler.isnan().all()
    keys = [record.key for record in records(["a", "a", "b"], "t")]
    assert keys[0] == keys[1] != keys[2]
