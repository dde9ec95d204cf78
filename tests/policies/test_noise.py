import pytest
import torch

from harness.policies.noise import key64, pass_key, philox, uniforms, uniforms_at

# Known answers of the reference implementation (Random123, kat_vectors, philox4x32 with 10 rounds).
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_philox_gives_the_published_numbers(counter, key, expected):
    words = philox(tuple(torch.tensor([word]) for word in counter), key[1] << 32 | key[0])
    assert tuple(int(word) for word in words) == expected


def test_hash_is_stable():
    assert key64("math/12+30=") == 2889957536584523734
    assert -(2**63) <= pass_key(3, 5, 0) < 2**63


def test_uniforms_known_answer_and_range():
    u = uniforms(7, 3, 1, torch.tensor(key64("p")), torch.arange(4)[:, None], torch.arange(5))
    assert u.shape == (4, 5)
    assert u.dtype == torch.float64
    assert float(u[2, 3]) == pytest.approx(0.9736834639626988, abs=0)
    assert float(u.min()) >= 0
    assert float(u.max()) < 1


def test_every_part_of_the_address_matters():
    base = {"seed": 1, "step": 2, "round": 3, "prompt_hash": torch.tensor(4), "rollout": torch.tensor(5)}
    base |= {"position": torch.tensor(6)}
    reference = float(uniforms(**base))
    for name, value in base.items():
        assert float(uniforms(**{**base, name: value + 1})) != reference
    assert float(uniforms(**base, stream="evaluation")) != reference


def test_values_do_not_depend_on_the_shape_asked_for():
    key = pass_key(0, 0, 0)
    hashes, rollouts = torch.tensor([key64("a"), key64("b")]), torch.arange(2)
    block = uniforms_at(key, hashes[:, None], rollouts[:, None], torch.arange(64))
    single = uniforms_at(key, hashes[1], rollouts[1], torch.tensor(17))
    assert float(block[1, 17]) == float(single)


def test_uniform_and_uncorrelated():
    u = uniforms_at(11, torch.tensor(5), torch.arange(200)[:, None], torch.arange(200))
    counts = torch.histc(u, 20, 0, 1)
    assert float(((counts - 2000) ** 2 / 2000).sum()) < 43.8  # chi-square, 19 degrees of freedom, p = .001
    assert abs(float(torch.corrcoef(torch.stack([u[:, :-1].reshape(-1), u[:, 1:].reshape(-1)]))[0, 1])) < 0.02
