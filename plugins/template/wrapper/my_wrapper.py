"""My wrapper: keep the scale of the advantages steady over the steps, whatever method they come from."""

from harness import hookimpl, method


@method(neutral={"decay": 1.0})
class MyWrapper:
    """Divide the advantages by a running root mean square of the steps so far.

    v_k = decay v_{k-1} + (1 - decay) mean(A^2) over the trained tokens, v_0 = 1;  A -> A / sqrt(v_k).

    State: `square`, the running mean, kept in checkpoints without further code because it is a plain attribute.
    Edge cases: a step whose advantages are all 0 only decays; with decay = 1 nothing changes.
    Source: write the paper here, and in the decorator as paper="2402.03300". Confidence: code, paper or abstract.
    """

    decay: float = 0.9

    @hookimpl
    def start(self, run):
        """Before the first step: set the state."""
        self.square = 1.0

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch):
        """[N] or [N, T]: what lies below, on a steady scale."""
        advantages = yield
        squares = batch.sequence_sum(advantages.square().expand_as(batch.mask))
        mean = float(squares.sum() / batch.mask.sum().clamp_min(1))
        self.square = self.decay * self.square + (1 - self.decay) * mean
        return advantages / max(self.square, 1e-12) ** 0.5
