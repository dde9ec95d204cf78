"""bfloat16 computes, float32 learns."""

from __future__ import annotations

import torch


def test_small_steps_move_weights_as_in_float32(config, started):
    """With bfloat16 parameters a step of 1e-6 would be rounded away; here parameters and moments are float32."""
    moved = {}
    exact, batch = started(config(dtype="float32", lr=1e-6, minibatches=1, compute=1e9))
    rough, _ = started(config(dtype="bfloat16", lr=1e-6, minibatches=1, compute=1e9))
    for name, trial in (("float32", exact), ("bfloat16", rough)):
        learner = trial.context.learner
        assert all(p.dtype == torch.float32 for p in learner.parameters)
        start = learner.snapshot()
        for _ in range(20):
            learner.begin()
            learner.epoch(batch)
        moments = [state["exp_avg"].dtype for state in learner.optimizer.state.values()]
        assert set(moments) == {torch.float32}
        pairs = zip(learner.parameters, start.tensors, strict=True)
        moved[name] = torch.cat([(p.detach() - s).flatten() for p, s in pairs])
    a, b = moved["float32"], moved["bfloat16"]
    touched = a != 0
    assert float((b[touched] != 0).float().mean()) > 0.99
    assert 0.95 < float(b.norm() / a.norm()) < 1.05
    assert float(torch.cosine_similarity(a, b, 0)) > 0.9


def test_bfloat16_really_computes_in_bfloat16(config, started):
    exact, batch = started(config(dtype="float32", minibatches=1))
    rough, _ = started(config(dtype="bfloat16", minibatches=1))
    one = exact.context.metered.evaluate(batch).logp
    two = rough.context.metered.evaluate(batch).logp
    assert two.dtype == torch.float32
    assert 1e-5 < float((one - two).abs().max()) < 0.5
