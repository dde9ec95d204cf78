"""PU distillation: one given answer is the anchor by which the policy ranks its own."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from numbers import Rational
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Batch, hookimpl, method
from harness.errors import PluginError
from harness.policies.padding import pad_left
from harness_papers.logps import mean_logp
from harness_papers.preference.spo_selfplay import win_rates
from harness_papers.reward_columns import in_place

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "pu_score"


@method(name="pu-distillation", base="grpo(beta=0)", experimental=True)
class PUDistillation:
    """The policy ranks its own answers by how much likelier a given good one makes them; no verdict, no reward model.

    s_i = mean_t logp(o_i | the prompt with the anchor shown) - mean_t logp(o_i | the prompt), R_i = the share of the
    group with a smaller s (ties 1/2), in place of the task's reward.

    The method was seen as an abstract: one answer of a teacher is the positive, the policy ranks unlabelled ones beside
    it, then DPO or GRPO learns the ranking (`dpo+pu-distillation` is the former). The anchor here is the task's
    reference answer; how the policy judges is ours. template: how the anchor is shown. A pass a step is charged.
    Edge cases: a prompt whose task has no answer that is a text or a number teaches nothing; an empty completion has
    s = 0; equal scores and groups of one get 1/2.
    Source: the abstract (positive-unlabeled distillation, 2026). Confidence: abstract (reconstructed).
    """

    template: str = "{prompt}{anchor}\n{prompt}"

    @hookimpl
    def annotate(self, batch: Batch, policy: Any, state: Any) -> Mapping[str, Tensor]:
        """[N] s, NaN without an anchor."""
        shown = {record.key: self._shown(record.key, policy, state.pool) for record in batch.prompts}
        contexts = [shown[record.key] for record in batch.prompts]
        rows = [row for row, context in enumerate(contexts) if context]
        score = torch.full_like(batch.rewards[:, :1].sum(1), torch.nan)
        if rows:
            likely = self._likely(batch[rows], [contexts[row] for row in rows], policy)
            score[rows] = likely - mean_logp(batch[rows]).to(score.dtype)
        return {NAME: score}

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The ranking, in place of the task's columns."""
        batch = yield
        score = batch.extras.get(NAME)
        if score is None:
            raise PluginError(f"pu-distillation needs batch.extras[{NAME!r}] [N], which annotate gives")
        return in_place(batch, "pu_rank", win_rates(batch.groups, score.to(batch.rewards.dtype)))

    def _shown(self, key: str, policy: Any, pool: Any) -> list[int]:
        """The tokens of the prompt with its anchor; none without one."""
        problem = pool.problem(key)
        if not isinstance(problem.answer, str | Rational):
            return []
        return list(policy.encode_prompt(self.template.format(prompt=problem.prompt, anchor=problem.answer)))

    @staticmethod
    def _likely(batch: Batch, contexts: Sequence[list[int]], policy: Any) -> Tensor:
        """[N] mean log-probabilities of the completions behind other contexts, a micro-batch a pass."""
        found = []
        for start in range(0, len(batch), policy.micro_batch):
            part = batch[start : start + policy.micro_batch]
            ids, mask = (
                x.to(batch.device) for x in pad_left(contexts[start : start + policy.micro_batch], policy.pad_id)
            )
            logp = policy.score(ids, part.completion_ids, prompt_mask=mask, mask=part.mask)
            found.append(part.sequence_mean(logp))
        return torch.cat(found).to(batch.rewards.dtype)
