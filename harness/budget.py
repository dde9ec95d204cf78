"""What a trial may spend, and what it has spent on what.

The unit of `compute` is a forward pass of one token through the policy: a forward costs 1 a token, its backward 2,
another model its parameters relative to the policy's. The charge follows the method's definition, never this
implementation:

| category | charged for | amount |
|---|---|---|
| prompt | every prompt, once a round: branches share it, a later round (as of AR3PO) pays it again | prompt tokens |
| generate | every token that was newly sampled, the end token included; kept or not | tokens |
| greedy | the greedy completion of every prompt, when a stack needs it | prompt and new tokens |
| old | log-probabilities at the step's starting weights, where a batch gives several minibatches | whole rows |
| reference | the same rows through the frozen initial policy | whole rows |
| policy, teacher:NAME | passes that a plugin asks for | whole rows |
| train | forward and backward of every row that enters the loss, once an epoch | 3 x whole rows |
| module:NAME | a built module, with every pass of the policy; a policy copy, its own | rows x size, 3 x when trained |

A whole row is its prompt and its completion. Rows that a micro-batch replays, or that the learner skips, are
implementation and go to `counts`, never to the bill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.errors import HarnessError

__all__ = ["CURRENCIES", "Budget", "BudgetSpent", "Cost", "Ledger"]

CURRENCIES = ("compute", "tokens", "rollouts", "updates", "seconds")
BACKWARD = 2.0  # relative to the forward of the same tokens


class BudgetSpent(HarnessError):  # noqa: N818 - it is how a trial ends, not a fault
    """A charge would pass the limit: the trial ends without it."""


class Cost(NamedTuple):
    """An amount in every currency: forward-tokens, sampled tokens, completions, optimizer steps."""

    compute: float = 0.0
    tokens: float = 0.0
    rollouts: float = 0.0
    updates: float = 0.0

    def __add__(self, other: Cost) -> Cost:  # type: ignore[override]
        """The sum, currency by currency."""
        return Cost(*(a + b for a, b in zip(self, other, strict=True)))

    def __mul__(self, factor: float) -> Cost:  # type: ignore[override]
        """Every currency times `factor`."""
        return Cost(*(factor * a for a in self))

    @classmethod
    def generation(cls, prompt_tokens: float, new_tokens: float, rollouts: float) -> Cost:
        """Sampling: every prompt once, every new token, counted completions."""
        return cls(prompt_tokens + new_tokens, new_tokens, rollouts)

    @classmethod
    def forward(cls, tokens: float, size: float = 1.0) -> Cost:
        """A pass without gradient; `size` is the model's parameters relative to the policy's."""
        return cls(tokens * size)

    @classmethod
    def training(cls, tokens: float, size: float = 1.0) -> Cost:
        """A forward and its backward."""
        return cls(tokens * size * (1.0 + BACKWARD))


@dataclass(frozen=True)
class Budget:
    """What a trial may spend: exactly one currency is set. Raises ValueError otherwise."""

    compute: float | None = None
    tokens: float | None = None
    rollouts: float | None = None
    updates: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        """One currency, and a positive limit."""
        given = [name for name in CURRENCIES if getattr(self, name) is not None]
        if len(given) != 1:
            msg = f"a budget takes exactly one of {', '.join(CURRENCIES)}; got {', '.join(given) or 'none'}"
            raise ValueError(msg)
        if not self.limit > 0:
            msg = f"the budget of {self.currency} must be positive; got {self.limit}"
            raise ValueError(msg)

    @property
    def currency(self) -> str:
        """The unit that the suite counts in."""
        return next(name for name in CURRENCIES if getattr(self, name) is not None)

    @property
    def limit(self) -> float:
        """How much of it may be spent."""
        return float(getattr(self, self.currency))


class Ledger:
    """What was spent, in every currency, by category; and counts that cost nothing by themselves.

    `categories` holds forward-tokens. `counts` holds rollouts requested, kept, dropped, truncated; tokens generated,
    discarded, trained; steps and updates; rows replayed and skipped by the learner.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.total = Cost()
        self.seconds = 0.0
        self.categories: dict[str, float] = {}
        self.counts: dict[str, float] = {}

    # -- reading -------------------------------------------------------------------------------------------------

    @property
    def spent(self) -> float:
        """What is spent, in the budget's currency."""
        return self.amount(self.total) if self.budget.currency != "seconds" else self.seconds

    @property
    def left(self) -> float:
        """What may still be spent."""
        return self.budget.limit - self.spent

    @property
    def progress(self) -> float:
        """The fraction of the budget that is spent, in [0, 1]."""
        return min(1.0, self.spent / self.budget.limit)

    def amount(self, cost: Cost) -> float:
        """A cost in the budget's currency; 0 under `seconds`, which is known only afterwards."""
        currency = self.budget.currency
        return 0.0 if currency == "seconds" else getattr(cost, currency)

    def fits(self, cost: Cost) -> bool:
        """Whether the cost can still be paid."""
        return self.amount(cost) <= self.left if self.budget.currency != "seconds" else self.left > 0

    # -- writing -------------------------------------------------------------------------------------------------

    def charge(self, category: str, cost: Cost) -> None:
        """Pay. Raises BudgetSpent, with nothing charged, when it would pass the limit (never under `seconds`)."""
        if self.budget.currency != "seconds" and self.spent + self.amount(cost) > self.budget.limit:
            msg = f"{category} costs {self.amount(cost):g} {self.budget.currency}, {self.left:g} is left"
            raise BudgetSpent(msg)
        self.total = self.total + cost
        if cost.compute:
            self.categories[category] = self.categories.get(category, 0.0) + cost.compute

    def count(self, **amounts: float) -> None:
        """Add to the counts."""
        for name, amount in amounts.items():
            self.counts[name] = self.counts.get(name, 0) + amount

    def state_dict(self) -> dict[str, Any]:
        """Plain numbers, for ledger.json and checkpoints."""
        return {
            "currency": self.budget.currency,
            "limit": self.budget.limit,
            "spent": self.spent,
            "total": {**self.total._asdict(), "seconds": self.seconds},
            "categories": dict(sorted(self.categories.items())),
            "counts": dict(sorted(self.counts.items())),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict()`."""
        total = dict(state["total"])
        self.seconds = float(total.pop("seconds"))
        self.total = Cost(**total)
        self.categories = dict(state["categories"])
        self.counts = dict(state["counts"])
