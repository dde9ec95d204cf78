from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import hookimpl, method
from harness.errors import PluginError
from harness.host import discover
from harness.host.ranges import Range, spelled


def make(**search):
    @method(search=search)
    class Some:
        clip: float = 0.2
        rounds: int = 4
        kind: str = "k1"
        beta: float | None = None

        @hookimpl
        def estimate_advantages(self, batch):
            return batch.reward

    return Some


def test_a_range_is_even_or_even_in_the_logarithm_or_a_choice():
    found = make(clip=(0.1, 0.4), rounds=(1, 8), kind=["k1", "k3"], beta=(1e-3, 0.1, "log")).info.search
    assert [found["clip"].at(place) for place in (0, 0.5, 0.999999)] == [0.1, 0.25, 0.4]
    assert [found["rounds"].at(place, whole=True) for place in (0, 0.5, 0.999999)] == [1, 4, 8]
    assert [found["kind"].at(place) for place in (0, 0.49, 0.51, 0.999999)] == ["k1", "k1", "k3", "k3"]
    assert found["beta"].at(0.5) == 0.01
    assert str(found["beta"]) == "0.001 to 0.1 (log)"


@given(st.floats(0, 1, exclude_max=True), st.floats(1e-9, 1e6), st.floats(1.001, 1e6), st.booleans())
def test_values_lie_in_their_range_and_are_short_to_write(place, low, factor, log):
    found = Range.between(low, low * factor, log=log)
    value = found.at(place)
    assert found.holds(value)
    assert value in {low, low * factor} or value == float(f"{value:.3g}")


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ({"clipp": (0.1, 0.4)}, "search has no parameter 'clipp'. Did you mean 'clip'"),
        ({"clip": (0.3, 0.4)}, "the published value 0.2 lies outside"),
        ({"kind": ["k1"]}, "two choices or more"),
        ({"clip": (0.4, 0.1)}, "to a larger one"),
        ({"clip": (0, 0.4, "log")}, "begins above 0"),
        ({"clip": (0.1, 0.4, "lin")}, r"write \(low, high\)"),
        ({"clip": ("a", "b")}, "ends of a range are numbers"),
    ],
)
def test_what_no_search_could_use_is_refused(search, message):
    with pytest.raises(PluginError, match=message) as caught:
        make(**search)
    assert "\n" not in str(caught.value)


def test_a_subclass_inherits_what_its_own_defaults_have_not_left():
    parent = make(clip=(0.1, 0.4), rounds=(1, 8))

    @method
    class Wider(parent):
        clip: float = 0.9

    @method(search={})
    class Fixed(parent):
        pass

    assert set(Wider.info.search) == {"rounds"}
    assert Fixed.info.search == {}


def test_first_party_ranges_are_in_order():
    """They load, and hold the published value: checked where the class is made."""
    declaring = [slug for slug, entry in discover().items() if entry.card and "search" in entry.card.stated]
    assert len(declaring) >= 12
    for slug in declaring:
        assert discover()[slug].load().info.search


def test_a_range_in_words():
    assert spelled((0.1, 0.4)) == "0.1 to 0.4"
    assert spelled(["a", "b"]) == "one of 'a', 'b'"
    assert spelled("nonsense") == "'nonsense'"
