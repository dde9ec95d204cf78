"""With whom a method is tried in one stack, and what is a refusal rather than a fault."""

from __future__ import annotations

import pytest

from harness import hookimpl, method
from harness.conformance import partners, run_checks, subjects
from harness.errors import HarnessError, NeverCalled, PluginError, Refusal, StackRefused, UsageError
from harness.host import build_stack, discover
from tests.conformance.plugins import Good


class Point:
    """An entry point of a distribution."""

    def __init__(self, value):
        self.name, self.value = "some", value

    def load(self):
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


@pytest.fixture
def offering(monkeypatch):
    def offer(**distributions):
        found = [(Point(value), owner.replace("_", "-"), "1.0") for owner, value in distributions.items()]
        monkeypatch.setattr(partners, "points", lambda group: found)
        partners._offered.cache_clear()

    yield offer
    partners._offered.cache_clear()


def subject(target=Good):
    (found,) = subjects(target)
    return found


def test_partners_are_told_apart_by_what_they_implement():
    assert (partners.above(subject()), partners.below(subject())) == ("f-grpo", "dapo")
    assert partners.above(subject("f-grpo")) is None
    assert partners.below(subject("dapo")) == "dr-grpo"


def test_distributions_name_partners_the_harness_first_and_a_broken_one_names_none(offering):
    offering(zoo=("maxk", "remax"), broken=SystemExit(1), policy_harness=("no-such-method", "gspo"))
    assert partners.below(subject()) == "gspo"
    offering(zoo=("remax", "f-grpo"), broken=ImportError("gone"))
    assert (partners.above(subject()), partners.below(subject())) == ("f-grpo", "remax")


def test_without_partners_the_reference_methods_are_what_there_is(offering):
    offering()
    (finding,) = run_checks(subject(), ["composition"]).findings
    assert finding.status == "pass"
    assert finding.text == "advantages wrap; conformance-z-score+good runs"


@method(conflicts=("dapo",))
class Shy:
    """A wrapper that does not stand with DAPO."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self):
        """Twice what lies below."""
        return 2 * (yield)


def test_what_cannot_stand_together_is_refused_by_type():
    catalogue = discover().with_class(Shy)
    for text in ("dapo+shy", "rloo+rloo", "token-mean+token-sum"):
        with pytest.raises(StackRefused) as caught:
            build_stack(text, catalogue)
        assert isinstance(caught.value, UsageError), text
        assert isinstance(caught.value, Refusal), text
    with pytest.raises(HarnessError) as misspelt:
        build_stack("dapoo", catalogue)
    assert not isinstance(misspelt.value, Refusal)
    assert issubclass(NeverCalled, PluginError)
    assert issubclass(NeverCalled, Refusal)


def test_a_declared_conflict_is_an_answer():
    (finding,) = run_checks(subject(Shy), ["composition"]).findings
    assert "dapo+shy conflicts, as declared" in finding.text
