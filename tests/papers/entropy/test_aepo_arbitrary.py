import dataclasses
from types import SimpleNamespace

import pytest
import torch

from harness.host import build_stack
from tests.batches import make_batch


@dataclasses.dataclass(frozen=True)
class Request:
    n: int
    key: str = "p"
    temperature: float = 1.0
    first_rollout: int = 0


def begun(stack="aepo-arbitrary", entropy=0.0):
    state = SimpleNamespace(
        hook="start", step=0, temperature=1.0, request=lambda _, n: Request(n), group_size=4,
        generator=torch.Generator(),
    )  # fmt: skip
    built = build_stack(stack)
    hooks = built.caller(state)
    hooks.start(run=None)
    dict(built.plugins)["aepo-arbitrary"].entropy = entropy
    return hooks, dict(built.plugins)["aepo-arbitrary"]


def sampled(hooks, temperature=1.2):
    """One prompt: four ordinary completions, one right, and four tempered ones, two right."""
    batch = make_batch(
        [1, 0, 0, 0, 1, 1, 0, 0], [0] * 8, temperature=torch.tensor([1.0] * 4 + [temperature] * 4).double()
    )
    batch = batch.replace(group_keys=hooks.group_by(batch=batch))
    batch = hooks.augment(batch=batch)
    return batch.replace(advantages=hooks.estimate_advantages(batch=batch))


@pytest.mark.parametrize(("entropy", "temperature"), [(0.0, 1.2), (0.5, 1.2), (0.6, 0.8)])
def test_low_entropy_samples_hotter_and_high_entropy_colder(entropy, temperature):
    requests = begun(entropy=entropy)[0].allocate_rollouts(prompts=["p"])
    assert [(r.n, r.temperature, r.first_rollout) for r in requests] == [(4, 1, 0), (4, temperature, 4)]


def test_good_tempered_completions_are_imitated_and_others_left_out():
    hooks, _ = begun("aepo-arbitrary(share=0.5, alpha=0.7)")
    batch = sampled(hooks)
    assert batch.advantages[:, 0].tolist() == pytest.approx([1.5, -0.5, -0.5, -0.5, 0.7, 0.7, 0, 0], abs=1e-5)
    assert hooks.train_on(batch=batch).any(1).tolist() == [True] * 6 + [False] * 2
    assert batch.temperature.tolist() == [1.0] * 8


def test_no_more_than_the_share_and_half_when_cold():
    assert (sampled(begun("aepo-arbitrary(share=0.25)")[0]).advantages[4:] > 0).sum() == 1
    assert (sampled(begun("aepo-arbitrary(share=0.5)", 2.0)[0], 0.8).advantages[4:] > 0).sum() == 1
    assert (sampled(begun("aepo-arbitrary(share=1.0)", 2.0)[0], 0.8).advantages[4:] > 0).sum() == 1, "of two good ones"


def test_alpha_0_is_the_base():
    hooks, _ = begun("aepo-arbitrary(alpha=0.0)")
    assert hooks.train_on(batch=sampled(hooks)).any(1).tolist() == [True] * 4 + [False] * 4


def test_only_ordinary_completions_tell_the_entropy():
    hooks, plugin = begun()
    batch = sampled(hooks)
    entropy = torch.tensor([0.3] * 4 + [9.0] * 4).double()[:, None] * batch.mask
    hooks.end_step(batch=batch.replace(entropy=entropy), metrics={})
    assert plugin.entropy == pytest.approx(0.3)
