"""HeRL: failed answers are rewritten under hints, and good rewrites join the group."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Batch, Groups, hookimpl, method
from harness.mathematics import dense_rank, ppo_clip_loss

if TYPE_CHECKING:
    from harness import PolicyOutput

LIMIT = 20.0  # of a log-ratio


@method(name="herl-hindsight", paper="2603.20046", base="grpo(beta=0)", clips=True)
class HeRL:
    """A second look at failed answers: rewrites under the criteria they missed teach the plain prompt.

    Each original of a prompt whose best score is below `threshold` (at most `candidates` of them) is rewritten once,
    from a prompt that shows it and names its unmet criteria. Of a prompt's rewrites up to `rewrites` that beat its best
    original, or tie with it, take the places of random originals, as answers to the plain prompt.
    R_i += alpha (R~_i - R_i) for rewritten originals. Loss of originals: clip with a bound `dual` below; of rewrites
    -A w, w = rho / (rho + gamma), rho = exp(logp - logp_behaviour), no clip, gradient through w.

    The score is the reward over the sum of the weights; a criterion is unmet if a column with a weight is below 1.
    behaviour: False takes rho = pi(token), as the authors do where the sampler's log-probability is not known.
    template, temperature: how a rewrite is asked for. The unused rewrites are charged, and leave before any statistic.
    Edge cases: no rewrite as good as the best original leaves the group alone; a single round (the suite's cap) is
    plain GRPO.
    Source: arXiv 2603.20046, the authors' code (one rewrite kept and gamma 1 in the script, 2 and 0.1 in the config).
    Confidence: code.
    """

    alpha: float = 0.05
    rewrites: int = 1
    gamma: float = 1.0
    threshold: float = 1.0
    candidates: int = 16
    temperature: float = 0.3
    clip: float = 0.2
    dual: float = 3.0
    behaviour: bool = True
    template: str = "{prompt}{answer}\nnot {unmet}\n{prompt}"

    @hookimpl
    def start(self) -> None:
        """Nothing asked."""
        self.sources: dict[str, list[int]] = {}  # by prompt: the rollouts that are rewritten, in order

    @hookimpl
    def next_round(self, batch: Batch, round: int, state: Any) -> Sequence[Any] | None:  # noqa: A002 - its name
        """A rewrite of every failed original."""
        if round > 0:
            return None
        prompts, score = Groups(batch.prompt), self._score(batch)
        failed = batch.kept & (prompts.max(score, batch.kept) < self.threshold)
        chosen = failed & (prompts.rank(batch.rollout.to(score.dtype), failed) < self.candidates)
        rows = chosen.nonzero()[:, 0].tolist()
        self.sources = {}
        for row in rows:
            self.sources.setdefault(batch.prompts[row].key, []).append(int(batch.rollout[row]))
        return [self._rewrite(batch, row, state) for row in rows] or None

    @hookimpl
    def augment(self, batch: Batch, state: Any) -> Batch:
        """Put the good rewrites into their groups, and note what each original could have had."""
        old = batch.round == 0
        if bool(old.all()) or not self.sources:
            marks = {"rewritten": torch.zeros_like(old), "hindsight": torch.zeros_like(batch.reward)}
            return batch[old].with_extras(**{name: value[old] for name, value in marks.items()})
        source = self._sources(batch)
        reward, score = batch.reward, self._score(batch)
        gain = torch.zeros_like(reward)
        best = Groups(source).max(reward, ~old)  # of the rewrites of each original
        gain[old] = torch.where(Groups(source).any(~old), best - reward, gain)[old]
        batch = batch.with_extras(rewritten=~old, hindsight=gain)
        taken, victims = self._exchange(batch, score, state)
        stays = old.clone()
        stays[victims] = False
        plain = batch.replace(entropy=None)
        moved = plain[taken].replace(
            prompt_ids=batch.prompt_ids[victims],
            prompt_mask=batch.prompt_mask[victims],
            group_keys=batch.group_keys[victims],
            temperature=batch.temperature[victims],
        )
        return Batch.cat([plain[stays], moved]) if len(moved) else batch[old]

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """A share of what the rewrite gained."""
        batch = yield
        gain = batch.extras.get("hindsight")
        return batch if gain is None else batch.add_reward("hindsight", gain.to(batch.rewards.dtype), self.alpha)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Clipped for originals, a bounded weight for rewrites."""
        assert batch.advantages is not None
        clipped = ppo_clip_loss(output.ratio, batch.advantages, self.clip, self.clip, self.dual)
        rewritten = batch.extras.get("rewritten")
        if rewritten is None:
            return clipped
        known = batch.logp_sampler if self.behaviour else torch.zeros_like(output.logp)
        rho = (output.logp - known).clamp(-LIMIT, LIMIT).exp()
        return torch.where(rewritten[:, None], -batch.advantages * rho / (rho + self.gamma), clipped)

    @hookimpl
    def end_step(self, batch: Batch) -> Mapping[str, float]:
        """How many rewrites train."""
        rewritten = batch.extras.get("rewritten")
        return {"rewritten": 0.0 if rewritten is None else float(rewritten.sum())}

    def _exchange(self, batch: Batch, score: Tensor, state: Any) -> tuple[Tensor, Tensor]:
        """(rows of the rewrites that are taken, rows of the originals that they replace)."""
        rewritten, prompts = batch.extras["rewritten"], Groups(batch.prompt)
        good = rewritten & (score >= prompts.max(score, ~rewritten)) & prompts.any(~rewritten)
        chance = torch.rand(int(batch.rollout.max()) + 1, generator=state.generator).to(score)
        # Better ones first, those that beat the best before those that tie; equal ones as they were numbered.
        rank = prompts.rank(dense_rank(prompts, -score) * len(chance) + batch.rollout, good)
        room = torch.minimum(prompts.count(good), prompts.count(~rewritten)).clamp_max(self.rewrites)
        taken = (good & (rank < room)).nonzero()[:, 0]
        order = prompts.rank(chance[batch.rollout], ~rewritten)
        victims = (~rewritten & (order < room)).nonzero()[:, 0]
        # Both lists have `room` rows of every prompt: bring them into one order.
        return taken[batch.prompt[taken].argsort(stable=True)], victims[batch.prompt[victims].argsort(stable=True)]

    def _sources(self, batch: Batch) -> Tensor:
        """[N] a number for every original, which its rewrites share."""
        late = batch.round > 0
        place = Groups(batch.prompt).rank(batch.rollout.to(batch.rewards.dtype), late)  # of a rewrite, in its prompt
        numbers: dict[tuple[str, int], int] = {}
        found = []
        for record, rollout, order in zip(batch.prompts, batch.rollout.tolist(), place.tolist(), strict=True):
            asked = self.sources.get(record.key, [])
            source = rollout if order < 0 else asked[order] if order < len(asked) else -1 - rollout
            found.append(numbers.setdefault((record.key, source), len(numbers)))
        return torch.tensor(found, device=batch.device)

    def _rewrite(self, batch: Batch, row: int, state: Any) -> Any:
        ids = batch.completion_ids[row, : int(batch.lengths[row])].tolist()
        answer = state.policy.decode([token for token in ids if token not in state.policy.stop_ids])
        low = (batch.rewards[row] < 1) & (batch.reward_weights > 0)
        unmet = ", ".join(name for name, missed in zip(batch.reward_names, low.tolist(), strict=True) if missed)
        record = batch.prompts[row]
        text = self.template.format(prompt=record.text, answer=answer, unmet=unmet)
        return state.request(record.key, n=1, text=text, temperature=self.temperature)

    @staticmethod
    def _score(batch: Batch) -> Tensor:
        """[N] the reward over the sum of the weights of the columns that apply."""
        total = (~batch.rewards.isnan() * batch.reward_weights.abs()).sum(1)
        return batch.reward / torch.where(total > 0, total, 1)
