from types import SimpleNamespace

import pytest
import torch
from harness_papers.rewards.etr_entropy_trend import ETR

from harness import probe
from harness.errors import HarnessError
from tests.batches import make_batch

approx = pytest.approx
PLAIN = "etr-entropy-trend(boundary='', normalize=False)"


@pytest.mark.parametrize(
    ("entropy", "expected"), [([1, 0.5, 0.25], 0.498), ([0.25, 0.5, 1], -0.798), ([1, 0.5, 0.75], 0.198), ([3], 0)]
)
def test_trends_worked_by_hand(entropy, expected):
    assert probe.rewards(PLAIN, [1.0], [0], entropy=[entropy])["entropy_trend"] == approx([expected])


def test_the_trend_counts_for_the_correct_and_silence_is_nothing():
    fields = {"entropy": [[1, 0.5, 0.25], [1, 0.5, 0.25], [0, 0, 0]]}
    assert probe.total_reward(PLAIN, [1.0, 0.0, 0.0], [0] * 3, **fields)[0] == approx([1 + 0.005 * 0.498, -1, 0])


def test_steps_end_where_the_vocabulary_says():
    """Tokens 0 to 3, of which 3 ends a step: the means of the steps are 1, 0.5 and 0.25."""
    policy = SimpleNamespace(
        model=SimpleNamespace(config=SimpleNamespace(vocab_size=4)),
        token_texts=lambda ids: ["a", "b", "c", ";"], device="cpu",
    )  # fmt: skip
    plugin = ETR(normalize=False)
    plugin.start()
    plugin._learn(SimpleNamespace(policy=policy))
    batch = make_batch([1.0], lengths=[6], completion_ids=torch.tensor([[0, 3, 1, 3, 0, 1]]))
    entropy = torch.tensor([[1.5, 0.5, 0.5, 0.5, 0.25, 0.25]], dtype=torch.float64)
    assert plugin.trend(batch, entropy)[0].tolist() == approx([0.498])


def test_entropies_must_be_there():
    with pytest.raises(HarnessError, match=r"batch\.entropy"):
        probe.rewards("etr-entropy-trend", [1.0], [0])
