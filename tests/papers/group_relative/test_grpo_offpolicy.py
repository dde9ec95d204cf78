import numpy as np
from harness_papers.group_relative.grpo_offpolicy import GRPOOffPolicy

from harness import probe
from tests.batches import make_batch
from tests.papers.worked import advantages, approx

FIELDS = {"mask": [[1, 1, 1]], "advantages": [1.0], "logp_old": np.log([[2.0, 2.0, 2.0]])}


def test_the_clip_is_centred_on_the_step_start():
    logp = np.log([[2.5, 2.1, 1.0]])
    loss, gradient = probe.token_loss("grpo-offpolicy", logp=logp, logp_sampler=[[0.0] * 3], **FIELDS)
    assert loss[0].tolist() == approx([-2.2, -2.1, -1.0])
    assert gradient[0].tolist() == approx([0.0, -2.1, -1.0])


def test_a_fresh_sampler_is_grpo():
    fields = {**FIELDS, "logp_old": [[0.0] * 3], "logp": np.log([[1.5, 1.1, 0.5]])}
    ours = probe.token_loss("grpo-offpolicy", logp_sampler=[[0.0] * 3], **fields)
    plain = probe.token_loss("grpo", **fields)
    assert ours[0] == approx(plain[0])
    assert ours[1] == approx(plain[1])


def test_the_lower_bound_is_never_negative():
    fields = {**FIELDS, "advantages": [-1.0], "logp": [[-9.0] * 3], "logp_old": np.log([[0.1] * 3])}
    loss, _ = probe.token_loss("grpo-offpolicy", logp_sampler=[[0.0] * 3], **fields)
    assert loss[0].tolist() == approx([np.exp(-9.0)] * 3)


def test_flat_groups_leave_everything():
    batch = make_batch([1.0, 0.0, 0.3, 0.3], [0, 0, 1, 1])
    assert GRPOOffPolicy().train_on(batch).tolist() == [True, True, False, False]
    assert GRPOOffPolicy(mask_flat=False).train_on(batch).all()
    assert advantages("grpo-offpolicy(eps=0.25)", [1.0, 0.0]).tolist() == approx([0.5 / 0.75**0.5, -0.5 / 0.75**0.5])
