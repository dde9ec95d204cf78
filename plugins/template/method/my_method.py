"""My method: what it does, in a sentence."""

from harness import hookimpl, method


@method(base="grpo(beta=0)", scope="group", neutral={"share": 0.0}, neutral_to="grpo(beta=0, scale='none')")
class MyMethod:
    """Half of the group-relative signal comes from the best completion of the group.

    A_i = (1 - share) (R_i - mean_g(R)) + share (1[i is a best one] - mean_g(1[best])).

    Edge cases: equal rewards and groups of one give 0.
    Source: write the paper here, and in the decorator as paper="2402.03300". Confidence: code, paper or abstract.
    """

    share: float = 0.5

    @hookimpl
    def estimate_advantages(self, batch):
        """[N] the mixture of both signals."""
        best = (batch.reward == batch.groups.max(batch.reward)).to(batch.reward.dtype)
        centred, chosen = batch.groups.center(batch.reward), batch.groups.center(best)
        return (1 - self.share) * centred + self.share * chosen
