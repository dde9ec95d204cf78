"""ReMax: the greedy answer as the baseline."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import discounted_returns, masked, sequence_sum_weights
from harness_papers.kl_reward import add_kl_reward

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(
    name="remax", paper="2310.10505", needs=lambda m: {"greedy", "reference"} if m.beta else {"greedy"}, scope="group"
)
class ReMax:
    """The baseline of a prompt is the reward of its greedy completion, which is charged and never trained on.

    A_{i,t} = sum_{t' >= t} r_{i,t'} - R(greedy answer to the prompt), with -beta (logp - logp_ref) inside r_{i,t};
    token loss -A_{i,t} logp_{i,t};  L = (1/N) sum_i sum_t.

    Edge cases: works with groups of one; nothing sums to zero over a group; as good as greedy gives 0, greedy right
    and all samples wrong gives -1 everywhere.
    Source: arXiv 2310.10505; advantage as in verl (which feeds it to its clipped loss). Confidence: code (beta as
    reported for 7B models, not verified).
    """

    beta: float = 0.1

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The KL penalty, token by token; the baseline stays the plain score."""
        batch = yield
        return add_kl_reward(batch, self.beta) if self.beta else batch

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Return to go minus the greedy reward."""
        if batch.greedy_reward is None:
            msg = "remax needs batch.greedy_reward, the reward of the greedy completion of every row's prompt"
            raise PluginError(msg)
        returns = discounted_returns(batch.token_rewards, batch.mask)
        return masked(returns - batch.greedy_reward[:, None], batch.mask)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The score-function loss of every token."""
        assert batch.advantages is not None
        return -batch.advantages * output.logp

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Sum over tokens, mean over completions."""
        return sequence_sum_weights(batch.mask)
