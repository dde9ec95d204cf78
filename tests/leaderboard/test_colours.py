"""A method's look: its own, the same everywhere, told apart by all readers and in print without colour."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from harness.leaderboard.colours import BASELINE, CONTROL, PALETTE, Look, colours, looks, styles

METHODS = ["grpo(beta=0)", "grpo(beta=0)+placebo", "grpo(beta=0)+random-reward", *(f"method-{i}" for i in range(37))]
# Machado, Oliveira and Fernandes (2009), severity 1: linear RGB as a reader without one kind of cone sees it
BLINDNESS = {
    "none": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour):
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def cielab(rgb):
    ratio = XYZ @ np.clip(rgb, 0, 1) / XYZ.sum(axis=1)
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("kind", BLINDNESS)
def test_every_reader_tells_the_colours_apart(kind):
    seen = [cielab(np.array(BLINDNESS[kind]) @ linear(colour)) for colour in PALETTE]
    assert min(np.linalg.norm(one - two) for one, two in itertools.combinations(seen, 2)) > 17


def test_forty_methods_have_forty_looks_also_without_colour():
    found = looks(METHODS)
    assert len({found[method] for method in METHODS}) == len(METHODS)
    ranked = [found[method] for method in METHODS[3:]]
    assert len({(look.style, look.marker) for look in ranked}) == len(ranked)


def test_a_colour_follows_from_the_name_alone():
    whole, few = colours(METHODS), colours(["another", "method-3", "method-5"])
    assert (few["method-3"], few["method-5"]) == (whole["method-3"], whole["method-5"])


def test_the_order_of_a_suite_changes_no_look():
    assert looks(METHODS, METHODS[0]) == looks(METHODS[::-1], METHODS[0])


def test_roles():
    found = looks(METHODS, "method-3")
    assert found["method-3"].colour == BASELINE
    assert {found[m].colour for m in (*METHODS[1:3], "untrained")} == {CONTROL}
    assert len({found[m] for m in (*METHODS[1:3], "untrained")}) == 3
    assert found["method-4"].colour in PALETTE


def test_more_methods_than_looks_still_get_one():
    many = [f"m{i}" for i in range(700)]
    found = looks(many)
    assert all(isinstance(found[m], Look) for m in many)
    assert set(styles(many)) == set(many)
