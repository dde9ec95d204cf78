"""IPO: the gap of log-ratios is regressed on a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch import Tensor

from harness import hookimpl, method
from harness_papers.preference.ranked import ranked_pairs
from harness_papers.whole_groups import completion_log_ratio

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="ipo", paper="2310.12036", needs={"reference"})
class IPO:
    """The log-ratio gap of a pair is pulled to 1 / (2 tau) by least squares, so that sure preferences stay bounded.

    D_i = sum_t (logp - logp_ref);  L = mean over prompts, and over the pairs of a group, of
    (D_w - D_l - 1 / (2 tau))^2.

    pairs: "extremes" is the best against the worst, "ordered" every pair with unequal rewards. normalize: D over the
    length, as TRL has it after asking the authors. tau: 0.1 is TRL's.
    margin: the least difference of rewards that is a preference; without one, small shaped parts of the reward decide
    between two wrong answers as if it mattered.
    Edge cases: ties are no pair.
    Source: arXiv 2310.12036, TRL. Confidence: code.
    """

    tau: float = 0.1
    pairs: Literal["extremes", "ordered"] = "extremes"
    margin: float = 0.0
    normalize: bool = False

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The mean square over pairs."""
        moved = completion_log_ratio(batch, output, "reference", normalize=self.normalize)
        pairs = ranked_pairs(batch, self.pairs, self.margin)
        return pairs.mean((pairs.gap(moved) - 1 / (2 * self.tau)).square())
