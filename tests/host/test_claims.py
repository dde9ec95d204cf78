"""What `@method` may claim about itself, and stacks of plugins that cannot stand together."""

import pytest

from harness import PluginError, UsageError, hookimpl, method
from tests.host.plugins import stack


def made(**claims):
    @method(**claims)
    class Sample:
        """The idea."""

        alpha: float = 1.0
        kind: str = "a"

        @hookimpl
        def estimate_advantages(self, batch):
            return self.alpha * batch.reward

    return Sample


def test_one_neutral_dict_or_several_with_a_target_each():
    assert made().info.claims.reductions == ()
    assert made(neutral={"alpha": 0.0}).info.claims.reductions == (({"alpha": 0.0}, None),)
    several = made(neutral=({"alpha": 0.0}, {"kind": "b"}), neutral_to=(None, "grpo"))
    assert several.info.claims.reductions == (({"alpha": 0.0}, None), ({"kind": "b"}, "grpo"))
    assert made(neutral=[{}], neutral_to="grpo").info.claims.reductions == (({}, "grpo"),)


def test_a_subclass_inherits_claims_one_by_one():
    parent = made(neutral={"alpha": 0.0}, exempt={"permutation": "ties"})

    @method(neutral_to="grpo")
    class Child(parent):
        """Another."""

    assert Child.info.claims.reductions == (({"alpha": 0.0}, "grpo"),)
    assert Child.info.claims.exempt == {"permutation": "ties"}


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"neutral": {"alhpa": 0.0}}, "Sample: neutral has no parameter 'alhpa'.*alpha"),
        ({"neutral": "alpha"}, "neutral must be a dict"),
        ({"neutral": {"alpha": 0.0}, "neutral_to": ("a", "b")}, "one for each of 1"),
        ({"conflicts": "grpo"}, "conflicts must be a tuple of slugs"),
        ({"exempt": {"permutation": ""}}, "exempt must be a dict of check and reason"),
    ],
)
def test_malformed_claims_are_refused(claims, message):
    with pytest.raises(PluginError, match=message):
        made(**claims)


def test_a_stack_with_a_declared_conflict_is_refused():
    @method
    class Other:
        """Another hook."""

        @hookimpl
        def aggregate(self, batch):
            return batch.mask

    peaceful, hostile = made(), made(conflicts=("other",))
    assert len(stack("sample+other", peaceful, Other).seats) == 2
    for text in ("sample+other", "other+sample"):
        with pytest.raises(UsageError, match="'sample' and 'other' conflict, as 'sample' says"):
            stack(text, hostile, Other)


def test_active_parameters_are_fields():
    assert made(active={"alpha": 3.0}).info.claims.active == {"alpha": 3.0}
    with pytest.raises(PluginError, match="active has no parameter 'beta'"):
        made(active={"beta": 3.0})
