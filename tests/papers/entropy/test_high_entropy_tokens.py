import pytest

from harness import probe

FIELDS = {"logp": [[0.0] * 3, [0.0] * 3], "logp_old": [[0.0] * 3, [0.0] * 3], "advantages": [1.0, -1.0],
          "mask": [[1, 1, 1], [1, 1, 0]], "entropy": [[0.5, 2.0, 0.25], [1.0, 0.125, 99.0]]}  # fmt: skip


def kept(stack="token-mean", share=0.4, **more):
    written = "".join(f", {name}={value!r}" for name, value in more.items())
    return probe.objective(f"{stack}+high-entropy-tokens(share={share}{written})", **FIELDS)[1]


def test_the_share_with_the_highest_entropy_learns():
    assert kept().astype(bool).tolist() == [[False, True, False], [True, False, False]]
    assert kept(share=0.2).astype(bool).sum() == 1


def test_the_divisor_stays_or_shrinks():
    assert kept()[0, 1] == pytest.approx(-1 / 5)
    assert kept(denominator="kept")[0, 1] == pytest.approx(-1 / 2)


def test_kl_terms_are_of_all_tokens():
    fields = {**FIELDS, "logp_ref": [[0.1] * 3] * 2}
    base, masked = (probe.regularizer(f"grpo{end}", **fields) for end in ("", "+high-entropy-tokens"))
    assert masked[0] == base[0]


def test_all_or_equal_tokens_change_nothing():
    assert kept(share=1.0).tolist() == probe.objective("token-mean", **FIELDS)[1].tolist()
    fields = {**FIELDS, "entropy": [[0.3] * 3] * 2}
    assert probe.objective("token-mean+high-entropy-tokens", **fields)[1][0].all()
