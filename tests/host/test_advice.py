"""What `explain` finds odd about a stack: measured on small batches, so that nothing need be declared."""

import pytest
import torch

from harness import hookimpl, method, standardize
from harness.host.advice import remarks
from harness.host.regime import Regime
from tests.host.plugins import stack

SEVERAL, LAG = Regime(updates=True), Regime(lag=True)


@method
class Zscore:
    """A z-score within the group."""

    eps: float = 1e-4

    @hookimpl
    def estimate_advantages(self, batch):
        return batch.groups.standardize(batch.reward, eps=self.eps)


@method
class Centred:
    @hookimpl
    def estimate_advantages(self, batch):
        return batch.groups.center(batch.reward)


@method
class Verdict:
    """The same at every scale of the rewards because it never looks at them."""

    @hookimpl
    def estimate_advantages(self, batch):
        return batch.groups.center(batch.correct.double())


@method
class Whiten:
    """Standardises over the batch whatever lies below."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self):
        return standardize((yield)[:, 0])


@method
class Halve:
    factor: float = 0.5

    @hookimpl(wrapper=True)
    def estimate_advantages(self):
        return (yield) * self.factor


@method
class Scaled:
    """Rewards with a standard deviation of 1."""

    @hookimpl(wrapper=True)
    def shape_rewards(self):
        batch = yield
        return batch.replace(rewards=standardize(batch.reward)[:, None] / batch.reward_weights)


@method
class Deaf:
    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch):
        yield
        return batch.correct.double() - 0.5


def kinds(text, *classes, regime=None):
    return {(remark.kind, remark.plugins) for remark in remarks(stack(text, *classes), regime)}


def texts(text, *classes, regime=None):
    return [str(remark) for remark in remarks(stack(text, *classes), regime)]


# -- normalised twice --------------------------------------------------------------------------------------------------


def test_a_z_score_that_is_whitened_again_is_double_normalisation():
    (found,) = remarks(stack("zscore+whiten", Zscore, Whiten))
    assert (found.kind, found.plugins) == ("double normalisation", ("zscore", "whiten"))
    assert "estimate_advantages of 'zscore', then estimate_advantages of 'whiten'" in found.text


def test_a_wrapper_in_between_does_not_hide_it():
    assert kinds("zscore+halve+whiten", Zscore, Halve, Whiten) == {("double normalisation", ("zscore", "whiten"))}


def test_rewards_that_are_standardised_before_the_z_score_count_too():
    assert ("double normalisation", ("scaled", "zscore")) in kinds("zscore+scaled", Zscore, Scaled)


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("centred+whiten", (Centred, Whiten)),
        ("zscore+halve", (Zscore, Halve)),
        ("verdict+whiten", (Verdict, Whiten)),
        ("zscore", (Zscore,)),
        ("zscore+deaf", (Zscore, Deaf)),
    ],
)
def test_one_normalisation_is_none_too_many(text, classes):
    assert not [kind for kind, _ in kinds(text, *classes) if kind == "double normalisation"]


def test_a_wrapper_that_ignores_what_lies_below_is_named():
    assert kinds("zscore+deaf", Zscore, Deaf) == {("discarded", ("deaf",))}


# -- inert parts -------------------------------------------------------------------------------------------------------


@method
class Clip:
    """The clipped surrogate."""

    @hookimpl
    def policy_loss(self, batch, output):
        inside = output.ratio.clamp(0.8, 1.2)
        return -torch.minimum(output.ratio * batch.advantages, inside * batch.advantages)


@method
class Plain:
    """REINFORCE: no ratio at all."""

    @hookimpl
    def policy_loss(self, batch, output):
        return -output.logp * batch.advantages


@method
class Asymmetric:
    """Another loss than the policy gradient where the ratio is 1, too."""

    @hookimpl
    def policy_loss(self, batch, output):
        return -output.ratio * batch.advantages * torch.where(batch.advantages > 0, 1.0, 0.5)


@method
class Tis:
    """Truncated importance weights between sampler and learner."""

    @hookimpl(wrapper=True)
    def policy_loss(self, batch):
        return (yield) * (batch.logp_old - batch.logp_sampler).exp().clamp(max=2)


@method
class Fresh:
    """Only what is at most one step old."""

    @hookimpl
    def train_on(self, batch):
        return batch.age <= 1


@method(needs={"reference"})
class Penalty:
    beta: float = 0.1

    @hookimpl
    def regularize(self, batch, output):
        return self.beta * (output.logp - batch.logp_ref)


def test_a_clip_does_nothing_with_one_update_a_batch_lagged_or_not():
    for regime in (None, LAG):
        (found,) = remarks(stack("clip", Clip), regime)
        assert (found.kind, found.hook, found.plugins) == ("inert", "policy_loss", ("clip",))
        assert "learner.minibatches" in found.text
    assert remarks(stack("clip", Clip), SEVERAL) == []


def test_losses_without_a_ratio_or_with_another_gradient_at_one_are_not_inert():
    assert remarks(stack("plain", Plain)) == []
    assert remarks(stack("asymmetric", Asymmetric)) == []


def test_the_defaults_own_clip_is_named_where_it_is_in_force():
    assert kinds("tis", Tis) == {("inert", ("tis",)), ("inert", ("defaults",))}


def test_weights_between_sampler_and_learner_need_lag():
    for regime in (Regime(), SEVERAL):
        (found,) = [text for text in texts("plain+tis", Plain, Tis, regime=regime) if "tis" in text]
        assert "it acts where older weights sample (sampler.lag)" in found
    assert remarks(stack("plain+tis", Plain, Tis), LAG) == []


def test_a_filter_of_stale_rows_needs_lag():
    (found,) = texts("fresh", Fresh, regime=SEVERAL)
    assert found.startswith(
        "inert: train_on of 'fresh' changes nothing with several updates a batch; it acts where older"
    )
    assert texts("fresh", Fresh, regime=Regime(updates=True, lag=True)) == []


def test_a_penalty_of_zero_is_inert_and_its_reference_paid_for_in_vain():
    found = texts("penalty(beta=0)+plain", Penalty, Plain)
    assert "inert: regularize of 'penalty' adds 0 (beta=0)" in found
    assert any(text.startswith("in vain: 'penalty' asks for 'reference'") for text in found)
    assert texts("penalty+plain", Penalty, Plain) == []


def test_wrappers_that_return_what_they_got_are_named_once_with_all_their_hooks():
    def same(self):
        return (yield)

    silent = method(
        type("Silent", (), {hook: hookimpl(wrapper=True)(same) for hook in ("keep", "estimate_advantages", "loss")})
    )
    (found,) = texts("plain+silent", Plain, silent)
    assert found.startswith("inert: keep, estimate_advantages, loss of 'silent' changes nothing of what it gets")
    assert texts("halve(factor=1.0)+plain", Halve, Plain)
    assert not texts("halve+plain", Halve, Plain)


def test_a_plugin_without_hooks_is_named():
    assert texts("empty", method(type("Empty", (), {}))) == ["inert: 'empty' implements no hook"]


def test_what_cannot_run_on_made_up_batches_is_said_not_guessed():
    @method
    class Critic:
        @hookimpl(wrapper=True)
        def estimate_advantages(self, batch):
            return (yield) - batch.extras["values"]

    (found,) = texts("plain+critic", Plain, Critic)
    assert found.startswith("not measured: plugin 'critic' (tests.host.test_advice), hook estimate_advantages, at ")
    assert found.endswith("KeyError: 'values'")


def test_measuring_leaves_the_stack_as_it_was():
    @method
    class Counts:
        @hookimpl
        def start(self):
            self.seen = 0

        @hookimpl(wrapper=True)
        def estimate_advantages(self):
            self.seen += 1
            return (yield)

    built = stack("counts", Counts)
    remarks(built)
    assert "seen" not in vars(built.plugins[0][1])


def test_the_parameter_that_makes_a_penalty_zero_is_found_by_trying():
    @method
    class Two:
        floor: float = 0.0
        beta: float = 0.0
        count: int = 0

        @hookimpl
        def regularize(self, output):
            return self.beta * output.logp

    assert texts("two+plain", Two, Plain) == ["inert: regularize of 'two' adds 0 (beta=0)"]


def test_rewards_that_are_made_anew_discard_another_plugins_only():
    @method
    class Anew:
        @hookimpl(wrapper=True)
        def shape_rewards(self, batch):
            yield
            return batch.replace(rewards=batch.correct.double()[:, None].expand_as(batch.rewards))

    assert not texts("centred+anew", Centred, Anew, regime=SEVERAL)
    assert kinds("centred+scaled+anew", Centred, Scaled, Anew, regime=SEVERAL) == {("discarded", ("anew",))}
