"""My reward: one more column, for whatever method trains on it."""

import torch

from harness import hookimpl, method


@method(neutral={"weight": 0.0})
class MyReward:
    """Completions that say nothing twice get a little more.

    reward column `variety` = weight x (distinct characters / characters).

    Columns are combined as the suite weighs them (a plugin's own column has weight 1), or one by one where a method
    treats them apart, as `gdpo` does. Stack it: `grpo(beta=0)+my-reward(weight=0.1)`.
    Edge cases: an empty text gets 0; a weight of 0 leaves a column that changes nothing.
    Source: write the paper here, and in the decorator as paper="2402.03300". Confidence: code, paper or abstract.
    """

    weight: float = 0.2

    @hookimpl
    def score(self, rollouts, task):
        """One column [N]; the task's own columns stay."""
        shares = [len(set(text)) / max(len(text), 1) for text in rollouts.texts]
        return {"variety": self.weight * torch.tensor(shares, device=rollouts.mask.device)}
