import math

import pytest
import torch
from harness_papers.off_policy.a3po import A3PO

from harness.errors import HarnessError
from tests.papers.worked import surrogate

LOGS = {"logp": [[-1.0]], "logp_old": [[-9.0]], "logp_sampler": [[-1.4]]}


def test_halfway_at_age_2():
    loss, gradient = surrogate("a3po(clip=0.9)", 1, 1.0, age=[2], **LOGS)
    assert loss == pytest.approx(-math.exp(0.2) * math.exp(0.2))
    assert gradient == pytest.approx(loss)


@pytest.mark.parametrize("age", [0, 1])
def test_fresh_data_is_ppo_around_the_sampling_policy(age):
    assert surrogate("a3po(clip=0.9)", 1, 1.0, age=[age], **LOGS)[0] == pytest.approx(-math.exp(0.4))
    assert surrogate("a3po", 1, 1.0, age=[age], **LOGS) == pytest.approx((-1.2, 0))


def test_mixtures():
    logp, behaviour, age = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.1, 0.1]).log(), torch.tensor([4, 0])
    assert A3PO(mixture="linear").proximal(logp, behaviour, age).exp().tolist() == pytest.approx([0.4, 0.1])
    assert A3PO().proximal(logp, behaviour, age).exp().tolist() == pytest.approx([0.1 * 5**0.75, 0.1])
    with pytest.raises(HarnessError, match="mixture"):
        A3PO(mixture="mean")
