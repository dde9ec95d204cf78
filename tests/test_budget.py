"""Budgets, costs and the ledger."""

from __future__ import annotations

import pytest

from harness.budget import CURRENCIES, Budget, BudgetSpent, Cost, Ledger


def test_a_budget_has_one_currency():
    budget = Budget(tokens=10)
    assert (budget.currency, budget.limit) == ("tokens", 10.0)
    with pytest.raises(ValueError, match="exactly one"):
        Budget()
    with pytest.raises(ValueError, match="got compute, tokens"):
        Budget(compute=1, tokens=1)
    with pytest.raises(ValueError, match="positive"):
        Budget(updates=0)


def test_costs_in_forward_tokens():
    assert Cost.generation(5, 20, 2) == Cost(25, 20, 2)
    assert Cost.forward(10) == Cost(compute=10)
    assert Cost.training(10) == Cost(compute=30)
    assert Cost.training(10, 0.5) == Cost(compute=15)
    assert Cost(1, 2, 3, 4) + Cost(1, 1, 1, 1) * 2 == Cost(3, 4, 5, 6)


@pytest.mark.parametrize("currency", CURRENCIES)
def test_a_ledger_counts_its_currency_and_never_passes_it(currency):
    ledger = Ledger(Budget(**{currency: 4}))
    cost = Cost(3, 2, 1.5, 1)
    ledger.charge("generate", cost)
    if currency == "seconds":
        ledger.charge("generate", cost * 1000)
        ledger.seconds = 4.0
        assert (ledger.spent, ledger.fits(cost)) == (4.0, False)
        return
    assert ledger.spent == getattr(cost, currency)
    before = ledger.state_dict()
    with pytest.raises(BudgetSpent, match=f"costs .* {currency}, .* is left"):
        ledger.charge("train", cost * 4)
    assert ledger.state_dict() == before
    assert ledger.fits(Cost(*([ledger.left] * 4)))
    assert not ledger.fits(Cost(*([ledger.left * 1.001] * 4)))


def test_categories_add_up_and_state_returns():
    ledger = Ledger(Budget(compute=100))
    for category, amount in [("prompt", 5), ("generate", 20), ("train", 60), ("prompt", 5)]:
        ledger.charge(category, Cost(compute=amount))
    ledger.count(rollouts_kept=3)
    ledger.count(rollouts_kept=2, updates=1)
    assert ledger.categories == {"prompt": 10, "generate": 20, "train": 60}
    assert ledger.spent == sum(ledger.categories.values()) == 90
    assert ledger.progress == 0.9
    again = Ledger(Budget(compute=100))
    again.load_state_dict(ledger.state_dict())
    assert again.state_dict() == ledger.state_dict()
    assert again.counts == {"rollouts_kept": 5, "updates": 1}
