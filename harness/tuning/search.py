"""The search of one row: its candidates, and the trials that try them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from harness.errors import UsageError
from harness.host import build_stack
from harness.host.parsing import PluginSpec, spell_stack
from harness.training.config import BudgetConfig, TrialConfig, Tuned
from harness.tuning.design import places
from harness.tuning.settings import SHARED, TuningConfig
from harness.tuning.space import Dimension, space

if TYPE_CHECKING:
    from harness.host import Catalogue, Stack

__all__ = ["Candidate", "Search", "search_of"]


@dataclass(frozen=True)
class Candidate:
    """One point of a row's space: its values by dimension, and the stack that spells those of the plugins."""

    number: int
    values: dict[str, Any]
    method: str


@dataclass(frozen=True)
class Search:
    """What a row searches, decided before any trial runs."""

    row: str
    space: tuple[Dimension, ...]
    candidates: tuple[Candidate, ...]
    tuning: TuningConfig

    def trials(self, config: TrialConfig) -> list[TrialConfig]:
        """The search trials, candidate by candidate; `config` is any trial of the row as the suite has it."""
        return [
            self.trial(config, candidate, seed) for candidate in self.candidates for seed in self.tuning.numbers
        ]  # fmt: skip

    def trial(self, config: TrialConfig, candidate: Candidate, seed: int) -> TrialConfig:
        """One search trial: on a tuning seed and validation problems of the suite, with its share of the budget."""
        tuning, evaluation = self.tuning, config.evaluation
        every = evaluation.every if tuning.metric == "auc" else 1.0  # only the end counts
        tried = self.applied(config, candidate)
        tuned = Tuned(row=self.row, trials=tuning.trials, values=candidate.values, number=candidate.number)
        limit = config.budget.limit * tuning.budget_share
        return tried.model_copy(update={
            "seed": seed,
            "budget": BudgetConfig(**{config.budget.currency: limit}),
            "evaluation": evaluation.model_copy(update={"split": tuning.split, "every": every, "tasks": ()}),
            "tuned": tuned,
        })  # fmt: skip

    def reported(self, config: TrialConfig, candidate: Candidate, spent: float) -> TrialConfig:
        """A trial of the report with the values that were chosen."""
        tuned = Tuned(row=self.row, trials=self.tuning.trials, values=candidate.values, spent=spent)
        return self.applied(config, candidate).model_copy(update={"tuned": tuned})

    def applied(self, config: TrialConfig, candidate: Candidate) -> TrialConfig:
        """The row's trial with a candidate's values, checked like those of a suite file."""
        changed: dict[str, dict[str, Any]] = {}
        for dimension in self.space:
            if dimension.shared:
                section, _, field = dimension.name.partition(".")
                changed.setdefault(section, {})[field] = candidate.values[dimension.name]
        try:
            sections = {
                name: SHARED[name].model_validate({**getattr(config, name).model_dump(), **values})
                for name, values in changed.items()
            }
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            raise UsageError(f"tuning.shared: {fault['input']!r} of {fault['loc'][-1]}: {fault['msg']}") from None
        return config.model_copy(update={"method": candidate.method, **sections})


def search_of(config: TrialConfig, tuning: TuningConfig, catalogue: Catalogue) -> Search:
    """The search of the row `config.method`: the published values first, then points of the design.

    Raises UsageError for a row without anything to search.
    """
    stack = build_stack(config.method, catalogue)
    dimensions = space(stack, config, tuning)
    if not dimensions:
        raise UsageError(
            f"tuning: {config.method} has nothing to search: none of its plugins declares a range, and tuning.shared "
            "is empty"
        )
    published = {dimension.name: dimension.now for dimension in dimensions}
    points = [published] + [
        {dimension.name: dimension.at(float(place)) for dimension, place in zip(dimensions, row, strict=True)}
        for row in places(tuning.sampler, tuning.trials - 1, len(dimensions))
    ]
    candidates = [Candidate(n, values, spelled(stack, values, catalogue)) for n, values in enumerate(points)]
    return Search(config.method, dimensions, tuple(candidates), tuning)


def spelled(stack: Stack, values: Mapping[str, Any], catalogue: Catalogue) -> str:
    """The canonical stack with the values of its plugins written out."""
    specs = []
    for seat in stack.seats:
        if seat.given:
            own = {name: values[key] for name in seat.info.search if (key := f"{seat.label}.{name}") in values}
            specs.append(PluginSpec(seat.spec.name, {**seat.spec.params, **own}, seat.spec.distribution))
    return build_stack(spell_stack(specs), catalogue).canonical
