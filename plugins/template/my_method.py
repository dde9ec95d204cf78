"""My method: what it does, in a sentence."""

from harness import hookimpl, method


@method(base="grpo(beta=0)")
class MyMethod:
    """Half of the group-relative signal comes from the best completion of the group.

    A_i = (1 - share) (R_i - mean_g(R)) + share (1[i is a best one] - mean_g(1[best])); 0 where all are equal.
    """

    share: float = 0.5

    @hookimpl
    def estimate_advantages(self, batch):
        best = (batch.reward == batch.groups.max(batch.reward)).to(batch.reward.dtype)
        centred, chosen = batch.groups.center(batch.reward), batch.groups.center(best)
        return (1 - self.share) * centred + self.share * chosen
