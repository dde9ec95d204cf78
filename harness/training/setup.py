"""Making a trial from its settings: policy, tasks, stack, learner, in the one order that resuming repeats."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.budget import Budget, Ledger
from harness.distributed import SOLO, World
from harness.engines import EngineSampler, open_sampler
from harness.errors import UsageError
from harness.host import Stack, Trained, build_stack, discover
from harness.policies.policy import Policy
from harness.policies.sampler import Sampler
from harness.tasks.load import load_task
from harness.tasks.mixture import Mixture
from harness.training.context import Context, Habits
from harness.training.lag import Lag
from harness.training.learner import Learner
from harness.training.meter import MeteredPolicy, MeteredSampler
from harness.training.reserve import foreseen_passes
from harness.training.result import trial_key
from harness.training.run import Run
from harness.training.state import State, seeded
from harness.training.verifier import ErringVerifier

if TYPE_CHECKING:
    from harness.host import Catalogue
    from harness.training.config import TrialConfig

__all__ = ["Trial", "key_of", "make", "open_sandbox"]


@dataclass
class Trial:
    """A trial that has been set up."""

    config: TrialConfig
    stack: Stack
    context: Context
    lag: Lag
    sandbox: Any


@contextlib.contextmanager
def open_sandbox(config: TrialConfig, world: World = SOLO, *, programs: bool = False) -> Iterator[tuple[Mixture, Any]]:
    """The task mixture, and the sandbox that runs programs: started only if a task has any, closed at the end.

    `programs` says that the evaluation has some of its own. Of several ranks, the first scores for all.
    """
    tasks: list[tuple[Any, float]] = [(load_task(share.task, share.options), share.share) for share in config.tasks]
    if world.size > 1:
        from harness.distributed.tasks import LedTask

        tasks = [(LedTask(task, world), share) for task, share in tasks]
    with contextlib.ExitStack() as stack:
        sandbox = None
        if programs or any(task.needs_sandbox for task, _ in tasks):
            from harness.tasks.sandbox import Sandbox

            sandbox = stack.enter_context(Sandbox(config.sandbox))
        yield Mixture(tasks, seed=config.seed, reward_weights=config.reward_weights, sandbox=sandbox), sandbox


def make(
    config: TrialConfig,
    task: Mixture,
    sandbox: Any,
    catalogue: Catalogue | None = None,
    policy: Policy | None = None,
    *,
    world: World = SOLO,
    resources: contextlib.ExitStack | None = None,
) -> Trial:
    """Construct, start, build. `policy`: one that is at hand in place of the one that the settings name.

    `resources` ends what the trial starts beside itself, such as an engine that samples.
    Raises UsageError for bad settings, PluginError for a plugin that breaks a contract.
    """
    stack = build_stack(config.method, catalogue or discover(config.plugins))
    if policy is None:
        policy = Policy.of(config.policy)
    policy.world = world
    ledger = Ledger(Budget(**{config.budget.currency: config.budget.limit}))
    metered = MeteredPolicy(policy, ledger, "policy", system=config.policy.system)
    metered.micro_batch = config.learner.micro_batch
    metered.needs = stack.needs
    state = State(config, task.pool, task, metered)
    if config.verifier.flip:
        task = state.task = ErringVerifier(task, config.verifier.flip, state)
    hooks = stack.caller(state)
    state.hooks = hooks
    lag = Lag(policy, config.sampler.lag)
    source = _sampler(config, lag.policy, resources)
    sampler = MeteredSampler(source, ledger, state, want_entropy="entropy" in stack.needs)
    if "reference" in stack.needs:
        state.reference = MeteredPolicy(policy.initial(), ledger, "reference")
        state.reference.micro_batch = config.learner.micro_batch
    context = Context(
        config=config, needs=stack.needs, hooks=hooks, state=state, ledger=ledger, policy=policy, metered=metered,
        sampler=sampler, task=task, learner=None, habits=Habits(0.0, 0.0),  # type: ignore[arg-type]
    )  # fmt: skip
    with seeded(config.seed, "start"):
        hooks.start(run=Run(context))
        built = {name: _trained(module, policy) for name, module in hooks.build(policy=metered, task=task).items()}
    if config.resources.sharded and world.size > 1:
        if config.sampler.engine != "builtin":
            raise UsageError("resources.sharded is for sampler.engine: builtin, as others read whole weights; drop one")
        policy.shard(average=stack.direct is not None)
    context.learner = Learner(
        policy, config.learner, config.optimizer, ledger, needs=stack.needs, built=built, direct=stack.direct
    )
    context.learner.hooks = hooks
    _share_modules(context)
    context.habits = _habits(context)
    return Trial(config, stack, context, lag, sandbox)


def _sampler(config: TrialConfig, policy: Policy, resources: contextlib.ExitStack | None) -> Sampler | EngineSampler:
    if config.sampler.engine == "builtin":
        return Sampler(policy)
    if resources is None:
        raise UsageError(f"sampler.engine: {config.sampler.engine} is for trials of a suite; use builtin here")
    return resources.enter_context(open_sampler(policy, config.sampler))


def key_of(config: TrialConfig, catalogue: Catalogue | None = None) -> str:
    """The key of the trial that these settings give now; nothing is started for it."""
    stack = build_stack(config.method, catalogue or discover(config.plugins))
    tasks = [(load_task(share.task, share.options), share.share) for share in config.tasks]
    task = Mixture(tasks, seed=config.seed, reward_weights=config.reward_weights)
    policy = Policy.of(config.policy)
    return trial_key(config, stack.spec(), {"task": task.digest(), "policy": policy.digest()})


def _trained(module: Any, policy: Policy) -> Trained:
    made = module if isinstance(module, Trained) else Trained(module)
    made.module.to(device=policy.device, dtype=policy.dtype).eval()  # dropout is off
    if not made.train:
        made.module.requires_grad_(False)
    return made


def _share_modules(context: Context) -> None:
    """Give hooks the built modules, and metered passes the ones that are called; no pass outlives its weights."""
    learner, metered = context.learner, [context.metered]
    context.metered.modules = learner.called
    context.metered.module_sizes = learner.sizes
    policy = context.policy
    for name, made in learner.built.items():
        module: Any = made.module
        if hasattr(module, "score"):
            size = getattr(module, "n_params", 0) or sum(parameter.numel() for parameter in module.parameters())
            size /= policy.n_params
            module = MeteredPolicy(module, context.ledger, f"module:{name}", size=size)
            module.micro_batch = learner.config.micro_batch
            metered.append(module)
        context.state.modules[name] = module

    def moved() -> None:
        for one in metered:
            one.forget()

    learner.moved = moved


def _habits(context: Context) -> Habits:
    """What the suite's settings say a step costs after its rounds, before one has been seen."""
    learner, needs = context.learner, context.needs
    per_pass = 1 + sum(learner.sizes.values())
    frozen = sum(size for name, size in learner.sizes.items() if not learner.built[name].train)
    settings = context.config.learner
    passes = foreseen_passes(settings, needs, per_pass, frozen)
    return Habits(passes, settings.minibatches * settings.updates_per_batch)
