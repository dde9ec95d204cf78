"""A plugin that passes every check, and for every check one that fails it and no other."""

from __future__ import annotations

import weakref

import torch
from torch import nn

from harness import PluginError, hookimpl, method
from harness.host import Trained
from harness.mathematics import masked


@method(paper="2402.03300", neutral={"strength": 0.0})
class Good:
    """A method of all trades: advantages on a steady scale, a mean over completions.

    A <- A (1 + strength) / (1 + strength v), with v a running mean of A^2.

    strength: 0 is the base. decay: of the running mean.
    Edge cases: ties give 0 and only decay v.
    """

    strength: float = 0.5
    decay: float = 0.9

    @hookimpl
    def start(self):
        """Nothing seen yet."""
        self.square = 1.0

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch):
        """What lies below, on a steady scale."""
        below = yield
        squares = batch.sequence_sum(below.square().expand_as(batch.mask)).sum() / batch.mask.sum().clamp_min(1)
        self.square = self.decay * self.square + (1 - self.decay) * float(squares)
        return below * (1 + self.strength) / (1 + self.strength * self.square)


@method(exempt={"padding": "no reason is good enough"})
class OddExemption:
    """Twice the advantage, with an exemption from what nobody may be exempt from."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self):
        """Twice."""
        return 2 * (yield)


@method
class Idle:
    """Does nothing at all, at length."""

    @hookimpl(wrapper=True)
    def policy_loss(self):
        """What lies below."""
        return (yield)


@method(identity=True)
class FalseIdentity:
    """Says that it is an identity, and is none."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self):
        """A little more."""
        return 1.000001 * (yield)


@method(neutral={"scale": 1.0})
class NotNeutral:
    """Claims a neutral scale that is not neutral."""

    scale: float = 2.0

    @hookimpl(wrapper=True)
    def estimate_advantages(self):
        """Never quite the base."""
        return self.scale * (yield) * 1.001


@method
class TiesAreNaN:
    """A z-score that forgets what happens where all are equal."""

    @hookimpl
    def estimate_advantages(self, batch):
        """0 / 0 in a tied group."""
        return batch.groups.center(batch.reward) / batch.groups.std(batch.reward)


@method
class IgnoresHoles:
    """Takes every token up to the length for one that the policy wrote."""

    @hookimpl
    def loss(self, batch, output):
        """The mask knows better."""
        inside = torch.arange(batch.tokens) < batch.lengths[:, None]
        return -(batch.advantages * output.logp * inside).sum() / inside.sum().clamp_min(1)


@method(needs={"entropy"})
class CountsInHoles:
    """Advantages by the entropy of a completion up to its end, whoever wrote the tokens."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch):
        """Larger where entropy is high."""
        below = yield
        inside = torch.arange(batch.tokens) < batch.lengths[:, None]
        total = torch.where(inside, batch.entropy, 0.0).sum(-1, keepdim=True)
        return below * (1 + total / batch.lengths[:, None].clamp_min(1))


@method(needs={"entropy"})
class KeepsNaN:
    """Advantages by entropy, which a product with the mask is to keep to the tokens that count."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch):
        """Larger where entropy is high."""
        below = yield
        return below * (1 + (batch.entropy * batch.mask).sum(-1, keepdim=True))


@method
class ByPlace:
    """Later rows count for more."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch):
        """By the number of the row."""
        return (yield) * (1 + torch.arange(len(batch), dtype=batch.mask.dtype)[:, None] / 100)


@method
class FirstOfEquals:
    """The first of the best completions counts twice."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch):
        """Ranks break ties by the order of the rows."""
        best = batch.groups.rank(-batch.reward) == 0
        return (yield) * (1 + best[:, None].to(batch.mask.dtype))


@method
class ByWidth:
    """Divides by the padded width of the batch."""

    @hookimpl
    def aggregate(self, batch):
        """T is not a property of any completion."""
        return batch.mask / (len(batch) * batch.tokens)


class CentredOverChunk(nn.Module):
    """Looks at the other rows of its pass."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, batch, hidden):
        """[N, T]."""
        hidden = masked(hidden, batch.mask[..., None])
        return (hidden - hidden.mean(0, keepdim=True)) @ self.weight


@method(needs={"hidden"})
class ChunkNorm:
    """A module that normalises over the rows of its pass."""

    @hookimpl
    def build(self, policy):
        """One module."""
        return {"norm": CentredOverChunk(policy.model.config.hidden_size)}

    @hookimpl
    def regularize(self, batch, output):
        """Its squares."""
        return masked(output.modules["norm"], batch.mask).square()


@method
class GlobalRandom:
    """Scales by a number of the global generator."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self):
        """Another number in every process."""
        return (yield) * (1 + torch.rand(()))


@method
class InPlace:
    """Adds to the rewards that it was given."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch):
        """In place."""
        batch.logp_sampler.add_(1.0)
        return 2 * (yield)


@method
class KeepsGraph:
    """Remembers the last losses, with all that led to them."""

    @hookimpl(wrapper=True)
    def policy_loss(self):
        """Not detached."""
        losses = yield
        self.last = {"losses": [losses]}
        return 2 * losses


LOSSES: list = []


@method
class KeepsGraphElsewhere:
    """Remembers the losses in a global of its module."""

    @hookimpl(wrapper=True)
    def policy_loss(self):
        """Not detached."""
        losses = 2 * (yield)
        LOSSES.append(losses)
        return losses


COUNTS: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


@method
class Forgets:
    """Keeps its state where no checkpoint finds it."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self):
        """Smaller with every step."""
        return (yield) / (2 + COUNTS.get(self, 0))

    @hookimpl
    def end_step(self):
        """One more."""
        COUNTS[self] = COUNTS.get(self, 0) + 1
        return {}


@method
class HangsItOnState:
    """Counts on an object that is the loop's."""

    @hookimpl(wrapper=True)
    def estimate_advantages(self, state):
        """Acts after a thousand steps."""
        state.counter = getattr(state, "counter", 0) + 1
        return (yield) * (2 if state.counter < 1000 else 3)


class Counter(nn.Module):
    """Counts in an attribute that is no buffer."""

    steps = 0

    def forward(self, batch, hidden):
        """[N, T], of no use."""
        del batch
        return hidden[..., 0]


@method
class ForgetsWhatActsLate:
    """Counts in an attribute of the module that it built, which no state_dict has, and writes it down late."""

    @hookimpl
    def build(self):
        """Frozen."""
        self.counter, self.seen = Counter(), 0
        return {"counter": Trained(self.counter, train=False)}

    @hookimpl(wrapper=True)
    def estimate_advantages(self):
        """Acts after a thousand steps."""
        self.counter.steps += 1
        self.seen = self.counter.steps
        return (yield) * (2 if self.seen < 1000 else 3)


@method
class Cancels:
    """Loses the digits of the reward in a large constant."""

    @hookimpl
    def estimate_advantages(self, batch):
        """Fine in float64."""
        moved = batch.reward + 1e5
        return (moved - batch.groups.sum(moved) / batch.groups.count()) * 2


@method
class HiddenPath:
    """Multiplies the loss by a number that depends on the policy, without a gradient and without saying so."""

    @hookimpl(wrapper=True)
    def policy_loss(self, batch, output):
        """`item` is no `detach`."""
        return (yield) * batch.sequence_mean(output.ratio).mean().item() * 2


@method(needs={"entropy"})
class HiddenEntropy:
    """Adds an entropy bonus whose value is taken and whose gradient is not."""

    @hookimpl(wrapper=True)
    def policy_loss(self, batch, output):
        """No gradient with respect to the entropy, and yet the loss follows it."""
        return (yield) * (1 + masked(output.entropy, batch.mask).sum().item())


@method
class StandsAlone:
    """Adds a column under a name that others use."""

    @hookimpl(wrapper=True)
    def shape_rewards(self, batch):
        """DAPO's name."""
        below = yield
        if "overlong" in below.reward_names:
            raise PluginError("who else shapes rewards here?")
        return below.add_reward("overlong", -batch.lengths.to(batch.mask.dtype))


@method
class LoopsOverGroups:
    """Centres group by group."""

    @hookimpl
    def estimate_advantages(self, batch):
        """A loop."""
        advantages = torch.zeros_like(batch.reward)
        for group in range(batch.groups.number):
            rows = batch.groups.index == group
            advantages[rows] = 2 * (batch.reward[rows] - batch.reward[rows].mean())
        return advantages


@method
class LoopsInMap:
    """Centres what a loop in C has picked, one completion at a time."""

    @hookimpl
    def estimate_advantages(self, batch):
        """No line of it is executed twice."""
        rewards = torch.tensor(list(map(float, batch.reward)), dtype=batch.reward.dtype)
        return 2 * batch.groups.center(rewards)


@method
class ScoresByPlace:
    """Rewards what was sampled later."""

    @hookimpl
    def score(self, rollouts):
        """The number of the row."""
        return {"late": torch.arange(len(rollouts), dtype=rollouts.logp.dtype)}


@method
class ScoresByWidth:
    """Rewards brevity beside the longest completion of the sample."""

    @hookimpl
    def score(self, rollouts):
        """The width of the padding."""
        return {"short": 1 - rollouts.lengths.to(rollouts.logp.dtype) / rollouts.mask.shape[1]}


@method
class Quadratic:
    """Compares every completion with every other."""

    @hookimpl
    def estimate_advantages(self, batch):
        """[N, N, 64] numbers."""
        gaps = batch.reward[:, None] - batch.reward[None, :]
        return (gaps[..., None] * torch.ones(64, dtype=gaps.dtype)).mean((1, 2))


# plugin -> the one check that it fails
BROKEN = {
    OddExemption: "metadata",
    Idle: "effect",
    FalseIdentity: "effect",
    NotNeutral: "reduction",
    TiesAreNaN: "edges",
    IgnoresHoles: "edges",
    CountsInHoles: "edges",
    KeepsNaN: "edges",
    ByPlace: "permutation",
    FirstOfEquals: "permutation",
    ScoresByPlace: "permutation",
    ByWidth: "padding",
    ScoresByWidth: "padding",
    ChunkNorm: "micro-batches",
    GlobalRandom: "determinism",
    InPlace: "mutation",
    KeepsGraph: "graph",
    KeepsGraphElsewhere: "graph",
    Forgets: "state",
    ForgetsWhatActsLate: "state",
    HangsItOnState: "state",
    Cancels: "precision",
    HiddenPath: "gradient",
    HiddenEntropy: "gradient",
    StandsAlone: "composition",
    LoopsOverGroups: "loops",
    LoopsInMap: "loops",
}
