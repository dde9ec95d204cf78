import math

import numpy as np
import pytest
import torch

from harness import PolicyOutput
from harness.batch import TopLogits
from harness.errors import HarnessError
from harness.host import build_stack
from tests.batches import make_batch
from tests.papers.worked import surrogate


def drops(method, old, new, advantage):
    logs = {"logp": [[math.log(new)]], "logp_old": [[math.log(old)]], "logp_sampler": [[math.log(old)]]}
    return surrogate(method, 1, advantage, **logs)[1] == 0


@pytest.mark.parametrize("method", ["dppo-divergence", "dppo-divergence(divergence='kl')"])
def test_rare_tokens_may_move_where_frequent_ones_may_not(method):
    assert not drops(method, 0.01, 0.05, 1.0)
    assert drops(method, 0.95, 0.6, -1.0)
    assert not drops(method, 0.95, 0.6, 1.0), "it was pushed the other way"
    assert not drops(method, 0.5, 0.6, 1.0)
    assert drops(f"{method[:15]}(sides='both')", 0.95, 0.6, 1.0)


def test_limits_are_the_published_ones_of_the_divergence():
    """From .5 to .68 the divergences are .18 and .0694, to .6 .1 and .0204."""
    for method in ("dppo-divergence", "dppo-divergence(divergence='kl')"):
        assert drops(method, 0.5, 0.68, 1.0)
        assert not drops(method, 0.5, 0.6, 1.0)
    assert not drops("dppo-divergence(divergence='kl', high=0.15)", 0.5, 0.68, 1.0)
    assert drops("dppo-divergence(divergence='kl', high=0.02)", 0.5, 0.6, 1.0)


def test_the_weight_is_capped_and_detached_or_the_gradient_goes_through_it():
    logs = {"logp": [[-1.0]], "logp_sampler": [[-4.0]], "logp_old": [[-2.0]]}
    wide = "low=1, high=1"
    assert surrogate(f"dppo-divergence({wide})", 1, 1.0, **logs) == pytest.approx((10, -10))
    assert surrogate(f"dppo-divergence({wide}, cap=None)", 1, 1.0, **logs)[1] == pytest.approx(-math.exp(3))
    assert surrogate(f"dppo-divergence({wide}, anchor='old')", 1, 1.0, **logs)[1] == pytest.approx(-math.e)
    through = surrogate(f"dppo-divergence({wide}, through=True, penalty=0.5)", 1, 1.0, **logs)
    assert through == pytest.approx((-math.exp(3) + 4.5, -math.exp(3) + 3))
    with pytest.raises(HarnessError, match="anchor"):
        surrogate("dppo-divergence(anchor='reference')", 1, 1.0)


@pytest.mark.parametrize(("kind", "divergence"), [("tv", 0.2), ("kl", 0.5 * math.log(5 / 3) + 0.5 * math.log(5 / 7))])
def test_the_likeliest_tokens_and_the_rest(kind, divergence):
    """Old 0.5, 0.3, rest 0.2; new 0.3 for the first, the second unknown: its 0.3 joins the rest."""
    batch = make_batch([1.0], lengths=[1]).with_extras(
        top_ids=torch.tensor([[[4, 7]]]), top_logp=torch.tensor([[[0.5, 0.3]]], dtype=torch.float64).log()
    )
    batch = batch.replace(advantages=torch.ones(1, 1, dtype=torch.float64), logp_sampler=batch.logp_old - 1)
    top = TopLogits(torch.tensor([[[9, 4]]]), torch.tensor([[[0.4, 0.3]]], dtype=torch.float64).log())
    output = PolicyOutput(logp=batch.logp_old, logp_old=batch.logp_old, mask=batch.mask, top_logits=top)
    for limit, stays in ((divergence * 1.01, True), (divergence * 0.99, False)):
        hooks = build_stack(f"dppo-divergence(divergence='top-{kind}', low={limit}, high={limit})").caller()
        hooks.start(run=None)
        assert bool(np.any(hooks.policy_loss(batch=batch, output=output).numpy())) is stays
