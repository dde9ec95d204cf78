"""REAL: rewards as labels of a classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor
from torch.nn import functional

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import group_average, log_sum_exp
from harness_papers.whole_groups import completion_log_ratio, counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

LABELS = ("verdict", "advantage")
FORMS = ("group", "each")


@method(name="real", paper="2602.05630", base="grpo(beta=0)")
class REAL:
    """Completions are classified as right or wrong by their mean log-ratio, against an anchor logit of 0.

    s_i = (1/T_i) sum_t (logp - logp_old);  L_q = ln(1 + sum over right of e^(-s / tau)) + ln(1 + sum over wrong of
    e^(s / tau));  L = mean over prompts. Every gradient weight is below 1 / tau.

    labels: "verdict" of the task, or the sign of the "advantage" (ms-swift). form: "each" is the plain binary
    cross-entropy, mean over completions of softplus(-+s / tau).
    Edge cases: prompts with one kind only give 0 and stay in the number, as in ms-swift (the formula alone would not).
    Source: arXiv 2602.05630, ms-swift. Confidence: code.
    """

    tau: float = 0.5
    labels: str = "verdict"
    form: str = "group"

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        if self.labels not in LABELS or self.form not in FORMS:
            msg = (
                f"real(labels={self.labels!r}, form={self.form!r}): choose {' or '.join(LABELS)}, {' or '.join(FORMS)}"
            )
            raise PluginError(msg)

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The cross-entropy."""
        groups, who = batch.groups, counted(batch)
        positive = batch.correct if self.labels == "verdict" else batch.advantage > 0
        logit = completion_log_ratio(batch, output, "old", normalize=True) / self.tau
        right, wrong = who & positive, who & ~positive
        if self.form == "each":
            each = functional.softplus(logit * (1 - 2 * positive.to(logit.dtype)))
            return (each * who).sum() / who.sum().clamp_min(1)
        entropy = log_sum_exp(groups, -logit, right, plus=1.0) + log_sum_exp(groups, logit, wrong, plus=1.0)
        both = groups.any(right, expand=False) & groups.any(wrong, expand=False)
        return group_average(groups, entropy * both, who)
