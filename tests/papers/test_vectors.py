"""Numbers that public implementations gave on small random inputs; `source` names each (numbers only, no code)."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from harness import probe
from harness.mathematics import kl_estimate

VECTORS = [json.loads(line) for line in (Path(__file__).parent / "vectors.jsonl").read_text().splitlines()]


def computed(hook, method, inputs):
    if hook == "advantages":
        return probe.advantages(method, **inputs)
    if hook == "weights":
        return probe.weights(method, **inputs)
    if hook == "token_loss":
        return probe.token_loss(method, **inputs)[0]
    if hook == "weighted_gradient":
        return probe.weights(method, inputs["mask"]) * probe.token_loss(method, **inputs)[1]
    assert hook == "kl"
    return kl_estimate(*(torch.tensor(inputs[name], dtype=torch.float64) for name in ("logp", "logp_ref")), method)


@pytest.mark.parametrize(
    "case", VECTORS, ids=lambda case: f"{case['hook']}-{case['method']}-{case['source'].split()[-1]}"
)
def test_agrees(case):
    got, expected = np.asarray(computed(case["hook"], case["method"], case["inputs"])), np.asarray(case["expected"])
    if expected.ndim == 2 and "mask" in case["inputs"]:
        mask = np.asarray(case["inputs"]["mask"]) > 0
        got, expected = np.where(mask, got.reshape(len(mask), -1), 0), np.where(mask, expected, 0)
    np.testing.assert_allclose(got, expected, rtol=case.get("tolerance", 2e-5), atol=case.get("tolerance", 2e-6))
