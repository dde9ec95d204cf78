"""ProGRPO: the model's own confidence corrects the advantage."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.errors import PluginError
from harness.mathematics import token_mean_weights
from harness_papers.logps import written_logp

if TYPE_CHECKING:
    from harness import Batch


@method(
    name="progrpo", paper="2602.05281", base="grpo(beta=0, clip_high=0.28)", experimental=True,
    neutral={"alpha": 0.0}, neutral_to="grpo(beta=0, clip_high=0.28)+token-mean",
)  # fmt: skip
class ProGRPO:
    """The confidence in the prompt minus that in the answer is added, so that over-confident paths gain less.

    A_i <- A_i + alpha (c(q) - c(o_i)) in groups with a right answer;  c(o) = exp(mean log-probability of the `share`
    least likely tokens of o) at the old policy;  c(q) = 1 / perplexity of the prompt at the step's start (one more
    charged pass over the prompts).  Token mean.

    alpha: not found, 0.1 is ours. prompt_share: c(q) by that share of the prompt's tokens, the least likely ones, as
    with the completion; notes can be read so, too. In groups that are all right the quoted formula still adds the term
    (one note says otherwise).
    Edge cases: alpha = 0 is the base with a token mean; an empty completion and a prompt of one token have
    c = 1; all wrong stays as it is.
    Source: arXiv 2602.05281 by way of a review and a note. Confidence: secondary (alpha reconstructed).
    """

    alpha: float = 0.1
    share: float = 0.2
    prompt_share: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a share of no tokens."""
        for name, share in (("share", self.share), ("prompt_share", self.prompt_share)):
            if not 0 < share <= 1:
                msg = f"progrpo({name}={share}): choose a share of the tokens above 0 and up to 1"
                raise PluginError(msg)

    @hookimpl
    def annotate(self, batch: Batch, policy: Any) -> Mapping[str, Tensor]:
        """[N] the confidence in every row's prompt."""
        prompts = Groups(batch.prompt)
        ids = [
            batch.prompt_ids[row][batch.prompt_mask[row] > 0].tolist() for row in prompts.first.tolist()
        ]  # a list a prompt: their lengths differ
        if not ids:
            return {"prompt_confidence": batch.reward}
        logp = policy.score([row[:1] for row in ids], [row[1:] for row in ids])
        lengths = torch.tensor([len(row) - 1 for row in ids], device=logp.device)
        mask = (torch.arange(logp.shape[1], device=logp.device) < lengths[:, None]).to(logp.dtype)
        return {"prompt_confidence": _confidence(logp, mask, self.prompt_share)[prompts.index]}

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """The advantages below, corrected."""
        advantages = yield
        prompt = batch.extras.get("prompt_confidence")
        if prompt is None:
            msg = "progrpo needs batch.extras['prompt_confidence'], which its annotate gives"
            raise PluginError(msg)
        gap = (prompt - _confidence(written_logp(batch), batch.mask, self.share)).to(advantages.dtype)
        solved = batch.groups.any(batch.correct)
        return advantages + self.alpha * torch.where(solved, gap, torch.zeros_like(gap))[:, None]

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)


def _confidence(logp: Tensor, mask: Tensor, share: float) -> Tensor:
    """[N] exp of the mean of the share of the tokens of logp [N, T] that are least likely."""
    low = torch.where(mask > 0, logp, torch.inf).sort(1).values
    wanted = (share * (mask > 0).sum(1)).ceil()
    counts = torch.arange(low.shape[1], device=low.device) < wanted[:, None]
    return (torch.where(counts, low, torch.zeros_like(low)).sum(1) / wanted.clamp_min(1)).exp()
