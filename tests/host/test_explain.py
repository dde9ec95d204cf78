from harness import hookimpl, method
from harness.host.explain import charges, explain, render
from harness.host.regime import Regime
from tests.host.plugins import stack


@method(needs={"reference"})
class Root:
    @hookimpl
    def estimate_advantages(self, batch):
        return batch.reward

    @hookimpl
    def next_round(self):
        return None

    @hookimpl
    def regularize(self, output):
        return output.logp


@method(base="root")
class Top:
    scale: float = 1.0

    @hookimpl
    def estimate_advantages(self, batch):
        return batch.reward

    @hookimpl
    def next_round(self):
        return None


@method(needs={"greedy"})
class Inner:
    @hookimpl(wrapper=True)
    def estimate_advantages(self):
        return (yield)


@method
class Outer:
    @hookimpl(wrapper=True)
    def estimate_advantages(self):
        return (yield)


def built():
    return stack("top(scale=2)+inner+outer", Root, Top, Inner, Outer)


def test_chains_are_shown_as_they_will_run():
    text = render(built())
    assert "top(scale=2)+inner+outer" in text.splitlines()[0]
    assert "estimate_advantages  outer(inner(top))   (replaces root)" in text
    assert "next_round           top then root then defaults" in text
    assert "regularize           root" in text
    assert "needs   greedy, reference" in text
    assert "as the base" in text


def test_charges_name_what_who_and_cost():
    found = {what: owner for what, owner, _ in charges(built())}
    assert found == {"reference": "root", "greedy": "inner", "next_round": "top, root"}
    assert "nothing" in render(stack("outer", Outer))


def test_a_control_that_changes_nothing_is_charged_for_nothing():
    def same(self):
        return (yield)

    control = type("Control", (), {"generate": hookimpl(wrapper=True)(same)})
    assert charges(stack("control", method(identity=True)(control))) == []


def test_remarks_come_with_what_they_assume():
    data = explain(built(), Regime(updates=True))
    assert data["assumed"] == "several updates a batch"
    kinds = {(remark["kind"], remark["hook"], remark["plugins"]) for remark in data["remarks"]}
    assert {("inert", "estimate_advantages", ("outer",)), ("in vain", "", ("inner",))} <= kinds
    assert "with one update a batch, on-policy" in render(built())


def test_explain_is_plain_data():
    import json

    data = json.loads(json.dumps(explain(built())))
    assert data["needs"] == ["greedy", "reference"]
    assert data["hooks"]["estimate_advantages"]["wrappers"] == ["outer", "inner"]
    assert data["hooks"]["estimate_advantages"]["replaced"] == ["root"]
    assert [plugin["label"] for plugin in data["plugins"]] == ["root", "top", "inner", "outer"]
