"""One hook of a stack on plain arrays."""

from __future__ import annotations

import functools
import re
import sys
import types

import numpy as np
import pytest
import torch

from harness import Groups, UsageError, hookimpl, method, probe
from harness.host import build_stack
from tests.host.plugins import catalogue

NONE = float("nan")


@method(clips=True)
class Sample:
    """Something in every hook that the probe runs."""

    factor: float = 1.0
    beta: float = 0.5

    @hookimpl
    def start(self, run):
        self.size = run.group_size
        self.seen = len(run.rollout(["a"], 2))

    @hookimpl
    def shape_rewards(self, batch):
        tokens = batch.add_reward("steps", batch.mask, weight=0.5)
        return tokens.add_reward("brevity", -batch.lengths.double(), weight=0.1)

    @hookimpl
    def estimate_advantages(self, batch):
        return self.factor * batch.groups.center(batch.reward)

    @hookimpl
    def aggregate(self, batch):
        return batch.mask / len(batch)

    @hookimpl
    def policy_loss(self, batch, output):
        return -output.ratio * batch.advantages

    @hookimpl
    def regularize(self, batch, output):
        return self.beta * (output.logp - batch.logp_ref) ** 2


@method
class PerToken:
    @hookimpl
    def estimate_advantages(self, batch):
        return batch.token_rewards

    @hookimpl
    def train_on(self, batch):
        return batch.correct

    @hookimpl
    def regularize(self, output):
        return output.logp.sum()


MASK = [[1, 1, 0], [1, 1, 1]]
LOGP = np.log([[0.5, 0.4, 0.3], [0.2, 0.1, 0.6]])
OLD = np.log([[0.4, 0.4, 0.9], [0.2, 0.2, 0.5]])


def test_advantages_take_rewards_groups_and_params():
    found = probe.advantages(Sample, [[1.0], [0.0], [4.0], [2.0]], ["b", "a", "b", "a"], params={"factor": 2})
    assert found.tolist() == [-3.0, -2.0, 3.0, 2.0]
    assert found.dtype == np.float64
    assert probe.advantages(Sample, [1, 0], [7, 7]).tolist() == [0.5, -0.5]


def test_shape_rewards_is_skipped_in_advantages():
    assert probe.advantages(Sample, [[1.0], [1.0]], [0, 0], lengths=[1, 3]).tolist() == [0.0, 0.0]


def test_several_columns_weights_and_missing_rewards():
    found = probe.advantages(Sample, [[1, None], [0, 1], [0, 0]], [0, 0, 1], reward_weights=[1, 2])
    assert found.tolist() == [-0.5, 0.5, 0.0]


def test_token_advantages_are_a_matrix():
    found = probe.advantages(PerToken, None, [0, 0], token_rewards=[[1, 2, 9], [3, 4, 5]], mask=MASK)
    assert found.tolist() == [[1, 2, 0], [3, 4, 5]]
    outcome = probe.advantages(PerToken, [[2], [3]], [0, 0], mask=MASK)
    assert outcome.tolist() == [[0, 2, 0], [0, 0, 3]]  # an outcome sits on the last token


def test_rewards_are_the_columns_after_shape_rewards():
    found = probe.rewards(Sample, [[1.0, 0.0], [0.0, NONE]], [0, 0], mask=MASK, reward_names=["a", "b"])
    assert list(found) == ["a", "b", "steps", "brevity"]
    assert found["steps"].tolist() == MASK
    assert found["brevity"].tolist() == [-2, -3]
    assert np.isnan(found["b"][1])


def test_token_loss_and_the_gradient_of_its_masked_sum():
    losses, gradient = probe.token_loss(Sample, logp=LOGP, logp_old=OLD, advantages=[2.0, -1.0], mask=MASK)
    expected = -np.exp(LOGP - OLD) * np.array([[2.0], [-1.0]]) * MASK
    np.testing.assert_allclose(losses, expected)
    np.testing.assert_allclose(gradient, expected)


def test_weights_are_aggregates():
    assert probe.weights(Sample, MASK).tolist() == [[0.5, 0.5, 0], [0.5, 0.5, 0.5]]


def test_regularizers_are_weighted_and_summed():
    value, gradient = probe.regularizer(Sample, logp=LOGP, logp_ref=OLD, mask=MASK)
    np.testing.assert_allclose(value, (0.25 * (LOGP - OLD) ** 2 * MASK).sum())
    np.testing.assert_allclose(gradient, 0.5 * (LOGP - OLD) * MASK)
    value, gradient = probe.regularizer(PerToken, logp=LOGP, mask=MASK)
    assert value == pytest.approx(LOGP.sum())
    assert gradient.tolist() == np.ones((2, 3)).tolist()


def test_loss_runs_from_rewards_to_the_scalar():
    value, gradient = probe.loss(Sample, logp=LOGP, logp_old=OLD, rewards=[[1.0], [0.0]], group=[0, 0], mask=MASK)
    shaped = np.array([1 + 0.5 * 2 - 0.2, 0 + 0.5 * 3 - 0.3])
    advantages = (shaped - shaped.mean())[:, None]
    expected = -np.exp(LOGP - OLD) * advantages * MASK / 2
    np.testing.assert_allclose(value, expected.sum())
    np.testing.assert_allclose(gradient, expected)


def test_loss_leaves_out_what_does_not_train():
    _, gradient = probe.loss(PerToken, logp=LOGP, logp_old=OLD, rewards=[[1.0], [0.2]], group=[0, 0], mask=MASK)
    assert gradient[0].any()
    assert not gradient[1].any()


def test_correct_is_the_first_column_above_a_half_unless_given():
    @method
    class Correct:
        @hookimpl
        def estimate_advantages(self, batch):
            return batch.correct.double()

    assert probe.advantages(Correct, [[0.6], [0.5]], [0, 0]).tolist() == [1.0, 0.0]
    assert probe.advantages(Correct, [[0.6], [0.5]], [0, 0], correct=[0, 1]).tolist() == [0.0, 1.0]


def test_other_names_are_extras_and_known_ones_are_fields():
    @method
    class Reads:
        @hookimpl
        def estimate_advantages(self, batch):
            total = batch.extras["values"].sum(-1) + batch.greedy_reward + batch.lengths + batch.truncated
            return total + batch.entropy.sum(-1) + batch.logp_sampler.sum(-1) + batch.max_tokens

    found = probe.advantages(
        Reads, [[0], [0]], [0, 0], values=[[1, 2, 3], [0, 0, 0]], greedy_reward=[10, 20], truncated=[False, True],
        entropy=np.ones((2, 3)), logp_behave=np.ones((2, 3)), lengths=[2, 3], mask=MASK, max_tokens=100,
    )  # fmt: skip
    assert found.tolist() == [6 + 10 + 2 + 3 + 3 + 100, 20 + 3 + 1 + 3 + 3 + 100]


def test_extras_may_be_ids_and_answers():
    @method
    class Answers:
        @hookimpl
        def estimate_advantages(self, batch):
            same = Groups(torch.stack([batch.prompt, batch.extras["answers"], batch.extras["tree"]], 1))
            return same.count().double()

    found = probe.advantages(Answers, [0, 0, 0], [0, 0, 0], answers=["7", "8", "7"], tree=[1, 1, 1])
    assert found.tolist() == [2.0, 1.0, 2.0]
    with pytest.raises(UsageError, match=r"the probe's turns is not an array of numbers"):
        probe.advantages(Answers, [0, 0], [0, 0], turns=[[1], [1, 2]])


def test_grouping_follows_the_stack():
    @method
    class Pairs:
        @hookimpl
        def group_by(self, batch):
            return torch.stack([batch.prompt, batch.rollout // 2], 1)

    assert probe.advantages(Pairs, [1, 0, 4, 2, 5], [0, 0, 0, 0, 1]).tolist() == [0.5, -0.5, 1.0, -1.0, 0.0]


def test_a_method_is_a_stack_a_class_or_a_file(tmp_path):
    file = tmp_path / "my_idea.py"
    file.write_text(
        "from harness import hookimpl, method\n\n@method\nclass MyIdea:\n    k: float = 2.0\n\n    @hookimpl\n"
        "    def estimate_advantages(self, batch):\n        return self.k * batch.reward\n"
    )
    assert probe.advantages(str(file), [1, 2], [0, 0]).tolist() == [2.0, 4.0]
    assert probe.advantages(str(file), [1, 2], [0, 0], params={"k": np.float64(3)}).tolist() == [3.0, 6.0]
    file.write_text(file.read_text() + "\n\n@method\nclass Other(MyIdea):\n    pass\n")
    with pytest.raises(UsageError, match=r"several methods \(my-idea, other\)"):
        probe.advantages(str(file), [1], [0])
    with pytest.raises(UsageError, match=r"unknown method"):
        probe.advantages("no-such-method", [1], [0])


def test_params_go_to_a_single_plugin():
    with pytest.raises(UsageError, match=r"params go to one plugin, 'a\+b' has 2"):
        probe.advantages("a+b", [1], [0], params={"x": 1})
    with pytest.raises(UsageError, match=r"has no parameter 'fator'. Did you mean 'factor'"):
        probe.advantages(Sample, [1], [0], params={"fator": 1})


def test_shapes_that_disagree_are_named():
    with pytest.raises(UsageError, match=r"the probe's group must be \[N\] = \[2\], not \[3\]"):
        probe.advantages(Sample, [1, 0], [0, 0, 0])
    with pytest.raises(UsageError, match=r"the probe's logp_old must be \[N, T\] = \[2, 3\], not \[1, 3\]"):
        probe.token_loss(Sample, logp=LOGP, logp_old=OLD[:1], advantages=[1, 1], mask=MASK)
    with pytest.raises(UsageError, match=r"needs rewards, a mask or log-probabilities"):
        probe.advantages(Sample, None, [0, 0])


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("entropy", [1, 2, 3, 4], "entropy must be [N, T] = [4, 1], not [4]"),
        ("logp_ref", [[0.0, 0.0]] * 4, "logp_ref must be [N, T] = [4, 1], not [4, 2]"),
        ("greedy_reward", [[1.0]] * 4, "greedy_reward must be [N] = [4], not [4, 1]"),
        ("correct", [1, 0], "correct must be [N] = [4], not [2]"),
        ("reward_weights", [1, 0], "reward_weights must be [K] = [1], not [2]"),
        ("advantages", [[1.0, 2.0]] * 4, "advantages must be [N, T] = [4, 1], not [4, 2]"),
        ("token_rewards", [1, 2, 3, 4], "token_rewards must be [N, T] = [4, 1], not [4]"),
        ("mask", [1, 1, 1, 1], "mask must be [N, T], a row of 0 and 1 a completion, not [4]"),
        ("entropy", [[1], [1, 2]], "entropy is not an array of numbers"),
    ],
)
def test_a_field_of_the_wrong_shape_is_told_the_right_one(field, value, fault):
    shape = {} if field == "mask" else {"mask": [[1]] * 4}
    with pytest.raises(UsageError, match=rf"^the probe's {re.escape(fault)}"):
        probe.advantages(Sample, [1, 0, 1, 0], [0] * 4, **shape, **{field: value})


def test_one_token_a_completion_is_still_one_a_token():
    """What the method returned decides: [N] stays [N], [N, 1] is [N, T] where T is 1."""

    @method
    class Outcome:
        @hookimpl
        def estimate_advantages(self, batch):
            return batch.reward

    @method
    class Halved:
        @hookimpl(wrapper=True)
        def estimate_advantages(self):
            return (yield) / 2

    one = {"mask": [[1], [1]]}
    assert probe.advantages(PerToken, [1, 0], [0, 0], **one).tolist() == [[1.0], [0.0]]
    assert probe.advantages(Outcome, [1, 0], [0, 0], **one).tolist() == [1.0, 0.0]
    with probe.knowing(catalogue(PerToken, Outcome, Halved)):
        assert probe.advantages("per-token+halved", [1, 0], [0, 0], **one).tolist() == [[0.5], [0.0]]
        assert probe.advantages("outcome+halved", [1, 0], [0, 0], **one).tolist() == [0.5, 0.0]
        assert probe.advantages("outcome+halved", [1, 0], [0, 0], mask=MASK).tolist() == [0.5, 0.0]


def test_what_a_method_needs_and_was_not_given_is_named():
    @method(needs={"entropy", "reference", "hidden"})
    class Wants:
        @hookimpl
        def estimate_advantages(self, batch):
            return batch.entropy.sum(-1) + (batch.logp_ref * batch.mask).sum(-1)

        @hookimpl
        def policy_loss(self, output):
            return output.hidden.sum(-1)

    call = functools.partial(probe.advantages, Wants, [1, 0], [0, 0], mask=MASK)
    with pytest.raises(UsageError, match=r"^wants needs entropy; give entropy= to the probe$"):
        call()
    with pytest.raises(UsageError, match=r"^wants needs logp_ref; give logp_ref= to the probe$"):
        call(entropy=np.ones((2, 3)))
    assert call(entropy=np.ones((2, 3)), logp_ref=np.zeros((2, 3))).tolist() == [3.0, 3.0]
    fields = {"logp": LOGP, "logp_old": OLD, "advantages": [1, 1], "mask": MASK}
    with pytest.raises(UsageError, match=r"^wants needs hidden of the policy, and the probe has no policy$"):
        probe.loss(Wants, rewards=[1, 0], group=[0, 0], **fields)


def test_a_fault_of_the_method_itself_stays_its_own():
    @method
    class Faulty:
        @hookimpl
        def estimate_advantages(self, batch):
            return batch.reward + None

    with pytest.raises(TypeError, match=r"NoneType"):
        probe.advantages(Faulty, [1, 0], [0, 0])


def test_plugins_of_a_probe_are_fresh():
    first, second = build_stack("sample", catalogue(Sample)), build_stack("sample", catalogue(Sample))
    assert first.plugins[0][1] is not second.plugins[0][1]


def test_an_objective_is_the_policy_loss_and_all_regularizers():
    fields = {"logp": LOGP, "logp_old": OLD, "mask": MASK, "logp_ref": OLD}
    total, gradient = probe.objective(Sample, advantages=[1.0, -1.0], **fields)
    penalty, slope = probe.regularizer(Sample, **fields)
    from_loss = (probe.weights(Sample, MASK) * probe.token_loss(Sample, advantages=[1.0, -1.0], **fields)[0]).sum()
    assert total == pytest.approx(from_loss + penalty)
    plain, plain_gradient = probe.objective(Sample, advantages=[1.0, -1.0], params={"beta": 0.0}, **fields)
    assert plain == pytest.approx(from_loss)
    assert gradient == pytest.approx(plain_gradient + slope)


def test_an_objective_without_advantages_estimates_them():
    fields = {"logp": LOGP, "logp_old": OLD, "mask": MASK, "logp_ref": OLD, "params": {"beta": 0.0}}
    given = {"rewards": [1.0, 0.0], "group": [0, 0]}
    assert probe.objective(Sample, **given, **fields)[0] == pytest.approx(probe.loss(Sample, **given, **fields)[0])


def test_token_penalties_are_the_terms_before_any_weight():
    terms, gradient = probe.token_penalty(Sample, logp=LOGP, mask=MASK, logp_ref=OLD)
    distance = np.where(np.asarray(MASK) > 0, np.asarray(LOGP) - np.asarray(OLD), 0)
    assert terms == pytest.approx(0.5 * distance**2)
    assert gradient == pytest.approx(distance)


def test_what_is_trained_on():
    kept = probe.train_on(PerToken, rewards=[1.0, 0.0], group=[0, 0], mask=MASK)
    assert kept.dtype == bool
    assert (kept == (np.asarray(MASK) > 0) * np.array([[True], [False]])).all()


def test_totals_and_advantages_after_shaping():
    fields = {"mask": MASK, "group": [0, 0]}
    total, per_token = probe.total_reward(Sample, [1.0, 0.0], **fields)
    columns = probe.rewards(Sample, [1.0, 0.0], **fields)
    lengths = np.asarray(MASK).sum(-1)
    assert total == pytest.approx(columns["0"] + 0.5 * lengths + 0.1 * columns["brevity"])
    assert per_token.sum(-1) == pytest.approx(total)
    assert probe.advantages(Sample, [1.0, 0.0], shaped=True, **fields) == pytest.approx(total - total.mean())
    assert probe.advantages(Sample, [1.0, 0.0], **fields) == pytest.approx([0.5, -0.5])


def test_a_class_that_was_typed_at_a_prompt_has_no_file(monkeypatch):
    monkeypatch.setitem(sys.modules, "prompt", types.ModuleType("prompt"))
    members = {"estimate_advantages": hookimpl(lambda self, batch: 2 * batch.reward), "__module__": "prompt"}
    typed = method(type("Typed", (), {"__doc__": "Twice the reward.", **members}))
    assert probe.advantages(typed, [1.0, 0.0], [0, 0]).tolist() == [2.0, 0.0]


def test_a_built_stack_need_not_be_of_installed_methods():
    built = build_stack("sample(factor=3)", catalogue(Sample))
    used = [probe.train_on(built, mask=[[1.0, 1.0]], rewards=[[1.0]]).tolist() for _ in range(2)]
    assert used[0] == used[1]
    assert not {"size", "seen"} & set(vars(built.plugins[0][1]))
