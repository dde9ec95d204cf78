"""`harness estimate SUITE`: tokens, operations and hours, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.errors import HarnessError, UsageError, nearest

if TYPE_CHECKING:
    from harness.estimate import Calibration, Model, Workload
    from harness.suites.run import Plan
    from harness.training.config import TrialConfig

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("estimate")(estimate)


def estimate(  # noqa: PLR0917 - typer reads options from the signature
    suite: Annotated[str, typer.Argument(help="Name of a bundled suite, or a path.")],
    hardware: Annotated[str, typer.Option(help="Named GPUs to convert to: h100,l4; all; none.")] = "all",
    measure: Annotated[bool, typer.Option(help="Run two steps of the baseline here first.")] = True,
    parameters: Annotated[str, typer.Option(help="Size of the policy, where nothing is measured: 7.6B.")] = "",
    prompt_tokens: Annotated[float, typer.Option(min=1, help="Mean prompt, where nothing is measured.")] = 128,
    completion_tokens: Annotated[
        float | None, typer.Option(min=1, help="Mean completion, where nothing is measured; half of max_tokens.")
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Trials at a time here; 0: one per core, one on CUDA.")] = 0,
    methods: Annotated[str, typer.Option(help="These stacks instead of the suite's.")] = "",
    seeds: Annotated[str, typer.Option(help="A count (5) or seeds (0,2,4-7).")] = "",
    budget: Annotated[str, typer.Option(help="Budget of a trial in the suite's currency: 200k, 1.5M.")] = "",
    plugin: Annotated[list[str] | None, typer.Option(help="A Python file with @method classes.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Change a setting: optimizer.lr=3e-5.")] = None,
) -> None:
    """What a suite will cost: measured on two steps of its baseline here, and converted to other hardware.

    Without a model at hand give --no-measure --parameters 7.6B: then all of it is arithmetic.
    """
    from harness.cli.run import load
    from harness.suites.run import plan

    asked = _hardware(hardware)
    chosen = load(suite, set_ or [], methods=methods, seeds=seeds, budget=budget, plugins=plugin or [], sandbox="")
    planned = plan(chosen)
    first = next((trial for trial in planned.trials if trial.method == planned.stacks[0]), planned.trials[0])
    if measure:
        _measured(planned, first, workers, asked)
        return
    if not parameters:
        raise UsageError("--no-measure needs the size of the policy: --parameters 7.6B")
    size = options.value("--parameters", parameters, _count)
    half = max(first.sampling.max_tokens / 2, 1.0)
    _arithmetic(planned, first, asked, size=size, lengths=(prompt_tokens, completion_tokens or half))


def whole_trials(planned: Plan) -> float:
    """What a suite takes, in trials of its report: those of a search count by their share of the budget."""
    from harness.suites.tune import search_trials

    searched = search_trials(planned) if planned.searches else []
    limit = planned.suite.budget.limit
    return len(planned.trials) + sum(trial.budget.limit for trial in searched) / limit


def _hardware(text: str) -> list[str]:
    from harness.estimate import HARDWARE

    names = {"all": list(HARDWARE), "none": []}.get(text, [name.strip() for name in text.split(",")])
    if not any(names) and text != "none":
        raise UsageError(f"--hardware {text}: names none; there is {', '.join(HARDWARE)}, and all or none of them")
    for name in names:
        if name not in HARDWARE:
            raise UsageError(f"--hardware {name}: unknown; there is {', '.join(HARDWARE)}.{nearest(name, HARDWARE)}")
    return names


def _count(text: str) -> float:
    """'7.6B', '135M' or a plain number."""
    from harness.suites.schema import parse_amount

    number = text.strip()
    try:
        return 1e9 * parse_amount(number[:-1]) if number[-1:] in {"B", "b"} else parse_amount(number)
    except ValueError:
        raise ValueError(f"{text!r} is no size of a policy; write 7.6B, 135M or the number") from None


def _measured(planned: Plan, config: TrialConfig, workers: int, asked: list[str]) -> None:
    from harness import runtime
    from harness.estimate import calibrate, workload
    from harness.suites.run import side_by_side

    runtime.prepare(config.threads)
    try:
        found = calibrate(config)
    except HarnessError as error:
        said = str(error).rstrip(".")
        raise HarnessError(f"{said}; or let arithmetic do, as with --no-measure --parameters 7.6B") from None
    work = workload(config, found.step, found.prompt, found.completion, seconds=found.step_seconds)
    at_once = workers or side_by_side(planned.suite)
    number = whole_trials(planned)
    _headline(planned, config, work)
    _here(found, work, number, at_once)
    _elsewhere(config, work, _model(config, found.parameters, found.trained), number, asked)


def _arithmetic(
    planned: Plan, config: TrialConfig, asked: list[str], *, size: float, lengths: tuple[float, float]
) -> None:
    from harness.estimate import nominal, workload
    from harness.host import build_stack, discover

    if config.budget.currency == "seconds":
        raise UsageError("a budget of seconds is what it costs; only --measure can say how many steps it buys")
    needs = build_stack(config.method, discover(config.plugins)).needs
    work = workload(config, nominal(config, needs, *lengths), *lengths)
    _headline(planned, config, work)
    print(f"taken, not measured: prompts of {lengths[0]:g} tokens, completions of {lengths[1]:g}")
    _elsewhere(config, work, _model(config, size, _trained(config, size)), whole_trials(planned), asked)


def _trained(config: TrialConfig, size: float) -> float:
    """All parameters, or about one per cent of them with adapters on every linear layer."""
    return 0.01 * size if config.policy.lora else size


def _model(config: TrialConfig, parameters: float, trained: float) -> Model:
    from harness.estimate import Model
    from harness.host import build_stack, discover

    needs = build_stack(config.method, discover(config.plugins)).needs
    return Model(parameters, trained, reference="reference" in needs, cache=_cache(config))


def _cache(config: TrialConfig) -> float:
    """Bytes of keys and values a token, where the model's shape is known here; else 0."""
    from harness.policies.size import size_of
    from harness.training.memory import cache_bytes

    try:
        return float(cache_bytes(config, size_of(config.policy)))
    except HarnessError:
        return 0.0


def _headline(planned: Plan, config: TrialConfig, work: Workload) -> None:
    budget = config.budget
    rows, number = len(planned.stacks), len(planned.trials)
    print(f"{planned.suite.name}: {number} trials ({rows} rows) of {budget.limit:,.0f} {budget.currency}")
    if planned.searches:
        from harness.suites.tune import cost

        print(f"{cost(planned)}; all times below are with the search")
    print(
        f"a trial of {config.method}: {work.steps:,.0f} steps, {_short(work.compute)} forward-tokens, "
        f"{_short(work.generated)} tokens generated"
    )
    print(f"{work.evaluations} evaluations a trial, {work.evaluated:,.0f} completions each")


def _here(found: Calibration, work: Workload, number: float, at_once: int) -> None:
    """What was measured on this machine, and what follows."""
    evaluating = work.evaluations * found.evaluation_seconds
    trial = found.start_seconds + work.steps * found.step_seconds + evaluating
    print(
        f"measured here: a step {found.step_seconds:.2g} s, an evaluation {found.evaluation_seconds:.2g} s, "
        f"the start {found.start_seconds:.2g} s, {found.parameters:,} parameters ({found.trained:,} trained), "
        f"memory {found.memory / 2**30:.1f} GiB"
    )
    print(f"here: {_time(trial)} a trial, {_time(trial * number / at_once)} for all, {at_once} at a time")
    print("methods differ: one that drops rollouts takes fewer steps, one with a critic or a reference slower ones")


def _elsewhere(config: TrialConfig, work: Workload, model: Model, number: float, asked: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    from harness.estimate import HARDWARE, memory_needed, trial_seconds
    from harness.estimate.hardware import gpus_needed

    if not asked:
        return
    table = Table("hardware", "GPUs", "a trial", "all, one after the other", "GPU-hours", pad_edge=False)
    for name in asked:
        gpu = HARDWARE[name]
        gpus = max(gpus_needed(model, gpu), config.resources.ranks)
        seconds = trial_seconds(work, model, gpu, gpus)
        table.add_row(
            name, str(gpus), _time(seconds), _time(seconds * number), _digits(seconds * number * gpus / 3600, 2)
        )
    console = Console(highlight=False)
    console.print(table)
    if config.sampler.served:
        console.print(
            "Training is sampled by a vLLM server: its GPUs come on top, and it is taken as fast as one of them."
        )
    operations = 2 * model.parameters * work.compute
    console.print(
        f"{_short(operations)} operations a trial; weights, gradients and optimizer need "
        f"{memory_needed(model) / 2**30:.1f} GiB. Arithmetic from data sheets, none of it measured: small policies are "
        "bound by overheads and take many times as long, large ones may be off by a factor of two.",
        style="dim",
    )


def _short(value: float) -> str:
    """12,345 as 12.3k."""
    for unit, size in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{_digits(value / size, 3)}{unit}"
    return _digits(value, 3)


def _time(seconds: float) -> str:
    """Seconds, minutes, hours or days to two places."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{_digits(seconds / size, 2)} {unit}"
    return f"{_digits(seconds, 2)} s"


def _digits(value: float, places: int) -> str:
    """A number to so many leading digits, never with an exponent."""
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return f"{value:,.{max(places - whole, 0)}f}"
