"""The learner: minibatches, exact gradients under any micro-batching, AdamW, snapshots.

How a gradient stays exact however a minibatch is cut is in `harness.training.gradients`; what that runs twice is
counted (`rows_replayed`), never charged.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from harness.budget import Cost, Ledger
from harness.distributed.sharding import full, share_of
from harness.errors import HarnessError, PluginError
from harness.training.gradients import Found, through_cut, through_whole
from harness.training.measures import Diverged, add_up, clip_share
from harness.training.minibatches import split
from harness.training.passes import Pass, row_tokens

if TYPE_CHECKING:
    from harness.batch import Batch
    from harness.host.trained import Trained
    from harness.policies.policy import Policy
    from harness.training.config import LearnerConfig, OptimizerConfig

__all__ = ["Diverged", "Learner", "Snapshot"]


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """Copies of the weights of policy and built modules (optimizer moments are not part of it)."""

    tensors: tuple[Tensor, ...]


class Learner:
    """Turns a batch into optimizer steps. Parameters and moments are float32 (float64 in a float64 trial)."""

    def __init__(
        self,
        policy: Policy,
        config: LearnerConfig,
        optimizer: OptimizerConfig,
        ledger: Ledger,
        *,
        needs: frozenset[str] = frozenset(),
        built: Mapping[str, Trained] | None = None,
        direct: str | None = None,
    ) -> None:
        """`built` are the modules of `build`; `direct` names a plugin whose loss needs the whole graph at once."""
        self.policy = policy
        self.config = config
        self.ledger = ledger
        self.needs = needs
        self.built = dict(built or {})
        self.direct = direct
        self.hooks: Any = None  # set by the trial once the stack has started
        self.moved: Callable[[], None] = lambda: None  # called when weights change: what was measured is of the past
        trained = {name: made for name, made in self.built.items() if made.train}
        self.called = {name: made.module for name, made in self.built.items() if _is_called(made.module)}
        self.sizes = {name: _size(module) / policy.n_params for name, module in self.called.items()}
        # (parameters, clip norm) of the policy, then of every module: each is clipped apart
        self.owned: list[tuple[list[nn.Parameter], float | None]] = [
            ([p for p in policy.model.parameters() if p.requires_grad], config.max_grad_norm)
        ]
        settings = [{"lr": optimizer.lr, "betas": optimizer.betas, "weight_decay": optimizer.weight_decay}]
        for made in trained.values():
            norm = config.max_grad_norm if made.max_grad_norm is None else made.max_grad_norm
            self.owned.append(([p for p in made.module.parameters() if p.requires_grad], norm))
            lr = optimizer.lr if made.lr is None else made.lr
            settings.append({"lr": lr, "betas": made.betas or optimizer.betas, "weight_decay": made.weight_decay})
        groups = [
            {"params": owned, **setting} for (owned, _), setting in zip(self.owned, settings, strict=True) if owned
        ]
        whole = not policy.sharded  # the fused step takes no mixture of divided tensors and others
        self.optimizer = torch.optim.AdamW(groups, eps=optimizer.eps, fused=whole, foreach=None if whole else False)
        self.base_lr = [group["lr"] for group in self.optimizer.param_groups]
        self.begin()

    @property
    def parameters(self) -> list[nn.Parameter]:
        """Everything that trains: the policy's parameters, then those of built modules."""
        return [parameter for owned, _ in self.owned for parameter in owned]

    @property
    def lr(self) -> float:
        """The policy's learning rate now."""
        return float(self.optimizer.param_groups[0]["lr"])

    def set_schedule(self, factor: float) -> None:
        """Scale every learning rate by the schedule's factor."""
        for group, lr in zip(self.optimizer.param_groups, self.base_lr, strict=True):
            group["lr"] = lr * factor

    def begin(self) -> None:
        """A new step starts from the weights as they are: they are what `logp_old` is of."""
        self.steps = 0
        self.pending = 0
        self.logp_start: tuple[Tensor, Tensor] | None = None  # whose tokens, and their log-probabilities

    # -- what `update` is written with ---------------------------------------------------------------------------

    def minibatches(self, batch: Batch) -> list[Batch]:
        """The batch in whole groups, as many parts as the suite says (fewer where there are fewer groups)."""
        return split(self.with_start(batch), self.config.minibatches)

    def with_start(self, batch: Batch) -> Batch:
        """The batch with the `logp_old` that its first backward pass found, where it has none."""
        if batch.logp_old is None and self.logp_start is not None and self.logp_start[0] is batch.completion_ids:
            return batch.replace(logp_old=self.logp_start[1])
        return batch

    def epoch(self, batch: Batch) -> dict[str, float]:
        """One optimizer step on every minibatch; metrics averaged over the tokens that trained."""
        found = []
        for minibatch in self.minibatches(batch):
            metrics = self.backward(minibatch)
            found.append({**metrics, **self.step()})
        return add_up(found)

    def backward(self, batch: Batch) -> dict[str, float]:
        """Add the gradient of a minibatch's loss; nothing where no token trains. Returns metrics.

        Raises Diverged for log-probabilities that are not finite, HarnessError for a minibatch without `logp_old`
        after the weights have moved.
        """
        trained = int((batch.mask > 0).sum())
        if trained == 0:
            return {"tokens_trained": 0.0}
        if batch.logp_old is None and self.steps:
            msg = "learner.backward: the weights have moved since the step began and this minibatch has no logp_old; "
            raise HarnessError(msg + "pass the whole batch, or parts of learner.minibatches(batch)")
        self._charge(batch, trained)
        world, direct = self.policy.world, self.direct is not None
        work = Pass(self.policy, batch, self.needs, self.called, self.config.micro_batch, alone=direct)
        fits = len(batch) <= self.config.micro_batch * work.world.size and (len(work.plan.chunks) == 1 or not work.even)
        if self.direct and not fits:
            msg = (
                f"plugin {self.direct!r}: a loss with direct=True needs the whole minibatch of {len(batch)} rows in one"
            )
            raise PluginError(f"{msg} pass; set learner.micro_batch to {len(batch)} or more")
        with world.gradients(self.parameters, alike=direct):
            found = through_whole(work, self._objective) if direct else through_cut(work, self._objective, keep=fits)
        replayed = sum(world.gather(found.replayed))
        if replayed:
            self.ledger.count(rows_replayed=replayed)
        self.pending += 1
        return {**self._measure(found), "tokens_trained": float(trained)}

    def step(self) -> dict[str, float]:
        """Clip (policy and every module apart) and step; skipped where no gradient was added since the last one.

        Raises Diverged for a gradient that is not finite.
        """
        if not self.pending:
            return {}
        norms = [_clip(owned, limit) for owned, limit in self.owned if owned]
        found = [float(norm) for norm in norms]
        if not all(map(math.isfinite, found)):
            raise Diverged("the gradient is not finite; lower optimizer.lr or look at the loss of the stack")
        self.ledger.charge("update", Cost(updates=1))
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.pending = 0
        self.steps += 1
        self.moved()
        self.ledger.count(updates=1)
        return {"grad_norm": found[0]}

    # -- weights -------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def snapshot(self) -> Snapshot:
        """Copies of all weights that train, to `restore` or `interpolate` from."""
        return Snapshot(tuple(parameter.detach().clone() for parameter in self.parameters))

    @torch.no_grad()
    def restore(self, snapshot: Snapshot) -> None:
        """Put the weights of a snapshot back."""
        self.interpolate(snapshot, 0.0)

    @torch.no_grad()
    def interpolate(self, snapshot: Snapshot, alpha: float) -> None:
        """Weights = snapshot + alpha (weights - snapshot): 0 is the snapshot, 1 changes nothing."""
        for parameter, start in zip(self.parameters, snapshot.tensors, strict=True):
            if alpha == 0.0:
                parameter.copy_(start)
            elif alpha != 1.0:
                parameter.lerp_(start, 1.0 - alpha)
        self.moved()

    @contextlib.contextmanager
    def tentative(self) -> Iterator[Snapshot]:
        """The weights as they are, which are put back if the block raises: the budget may end in the middle of it."""
        origin = self.snapshot()
        try:
            yield origin
        except BaseException:
            self.restore(origin)
            raise

    # -- steps that are not AdamW's ------------------------------------------------------------------------------

    @torch.no_grad()
    def gradient(self) -> Tensor:
        """[P] the gradient added since the last step, over `parameters` in a row; it is taken: none is left."""
        found = [full(torch.zeros_like(p) if p.grad is None else p.grad) for p in self.parameters]
        self.optimizer.zero_grad(set_to_none=True)
        self.pending = 0
        return torch.cat([part.reshape(-1) for part in found])

    @torch.no_grad()
    def shift(self, direction: Tensor, scale: float = 1.0) -> None:
        """Weights += scale direction [P]: a trial point, which costs nothing by itself."""
        sizes = [parameter.numel() for parameter in self.parameters]
        for parameter, part in zip(self.parameters, direction.split(sizes), strict=True):
            parameter.add_(share_of(part.view(parameter.shape), parameter), alpha=scale)
        self.moved()

    def stepped(self) -> None:
        """Charge and count an update that `shift` or `interpolate` made instead of `step`."""
        self.ledger.charge("update", Cost(updates=1))
        self.steps += 1
        self.ledger.count(updates=1)

    # -- inside --------------------------------------------------------------------------------------------------

    def _charge(self, batch: Batch, trained: int) -> None:
        """Forward and backward of every row that enters the loss; the same rows for modules, forward only if frozen."""
        enters = (batch.mask > 0).any(1)
        tokens = int(row_tokens(batch)[enters].sum())
        self.ledger.charge("train", Cost.training(tokens))
        for name, size in self.sizes.items():
            cost = Cost.training(tokens, size) if self.built[name].train else Cost.forward(tokens, size)
            self.ledger.charge(f"module:{name}", cost)
        self.ledger.count(tokens_trained=trained, rows_trained=int(enters.sum()))

    def _objective(self, work: Pass, tensors: Mapping[str, Tensor]) -> tuple[Tensor, Tensor | None, Batch]:
        """The policy objective, the sum of the regularizers (None without), and the batch with its weights."""
        batch = work.batch
        output = work.output(tensors)
        if self.logp_start is None and self.steps == 0 and batch.logp_old is None:
            self.logp_start = batch.completion_ids, output.logp_old
        if batch.logp_old is None:
            batch = batch.replace(logp_old=output.logp_old)
        batch = batch.replace(weights=self.hooks.aggregate(batch=batch))
        loss = self.hooks.loss(batch=batch, output=output)
        return loss, self.hooks.penalty(batch=batch, output=output), batch

    @staticmethod
    def _measure(found: Found) -> dict[str, float]:
        """Numbers of one minibatch; one transfer from the device."""
        batch, logp = found.batch, found.logp
        assert batch.logp_old is not None
        gap = torch.where(batch.mask > 0, logp - batch.logp_old, torch.zeros_like(logp)).abs().amax()
        share = clip_share(batch, found.slope)
        value, widest, clipped = torch.stack([found.loss.to(gap), gap, share.to(gap)]).tolist()
        if not math.isfinite(value):
            raise Diverged(f"the loss is {value}; lower optimizer.lr or look at the loss of the stack")
        return {"loss": value, "log_ratio_max": widest, "clip_share": clipped}


def _clip(parameters: Sequence[nn.Parameter], limit: float | None) -> Tensor:
    limit = math.inf if limit is None else limit
    divided = [p for p in parameters if hasattr(p, "device_mesh")]
    if not divided:
        return torch.nn.utils.clip_grad_norm_(parameters, limit, foreach=True)
    kinds = divided, [p for p in parameters if not hasattr(p, "device_mesh")]
    grads = [[p.grad for p in kind if p.grad is not None] for kind in kinds]
    norm = torch.stack([full(torch.nn.utils.get_total_norm(kind)) for kind in grads if kind]).square().sum().sqrt()
    for kind in kinds:
        torch.nn.utils.clip_grads_with_norm_(kind, limit, norm)
    return norm


def _is_called(module: Any) -> bool:
    """Whether the learner calls a built module with every pass: one that has a `forward` and is no policy."""
    return type(module).forward is not nn.Module.forward and not hasattr(module, "score")


def _size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
