import pytest

from harness.errors import UsageError
from harness.suites.expand import trials
from harness.suites.first_step import check_first_step
from harness.suites.schema import Suite


def planned(budget, *methods, currency="compute", sets=()):
    suite = Suite.load(
        "quickstart", sets, {"budget": {currency: budget}, "methods": methods, "honesty": [], "seeds": 2}
    )
    return trials(suite, str)


def test_a_budget_below_half_a_batch_is_refused_with_what_is_enough():
    with pytest.raises(UsageError, match=r"a budget of 30k compute buys no step of grpo.*16 of 32 prompts") as fault:
        check_first_step(planned(30_000))
    enough = float(str(fault.value).rsplit("--budget ", 1)[1].split("k")[0]) * 1000
    check_first_step(planned(enough))
    with pytest.raises(UsageError, match="buys no step"):
        check_first_step(planned(enough - 200))


def test_what_a_stack_needs_counts():
    check_first_step(planned(36_000, "dr-grpo"))
    with pytest.raises(UsageError, match=r"buys no step of grpo\(beta=0\.1\)"):  # a pass of the reference more
        check_first_step(planned(36_000, "grpo(beta=0.1)"))


@pytest.mark.parametrize(("currency", "enough"), [("rollouts", 128), ("tokens", 128 * 40), ("updates", 4)])
def test_other_currencies(currency, enough):
    check_first_step(planned(enough, currency=currency))
    with pytest.raises(UsageError, match=f"a budget of .* {currency} buys no step of grpo"):
        check_first_step(planned(enough - 1, currency=currency))


def test_time_is_known_only_afterwards():
    check_first_step(planned(1e-3, currency="seconds"))


def test_a_smaller_batch_needs_less():
    check_first_step(planned(30_000, sets=["sampling.prompts=16"]))
