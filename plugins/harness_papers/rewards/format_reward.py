"""Rule rewards for the form of a text: a thinking template, or its tags counted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from torch import Tensor

from harness import hookimpl, method

TAGS = ("<think>\n", "\n</think>\n", "\n<answer>\n", "\n</answer>")
THINK = re.compile(r"<think>(?!.*<think>).*</think>.*", re.DOTALL)
ANSWER = re.compile(r"<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>", re.DOTALL)


@method(
    name="format-reward",
    paper="2501.12948",
    base="grpo(beta=0)",
    active={"rule": "pattern", "pattern": ".*[0-9]"},
    scope="group",
)
class FormatReward:
    """A cheap column for the form of the text, often the first to saturate: the easy reward of multi-reward tests.

    rule: "think", 1 if the text starts with <think>, has no other opening tag, and closes it; "answer", 1 if the whole
    text is <think> and <answer> blocks on lines of their own; "tags", a quarter for each of their four tag lines that
    occurs exactly once; "pattern", 1 if all of the text matches `pattern`, for any other form.

    weight: what the column is multiplied with. prefix: put before the text first, for chat templates that open the
    thinking in the prompt.
    Edge cases: an empty completion has no form; policies that never saw the tags never earn the column.
    Source: DeepSeek-R1 (arXiv 2501.12948) as in TRL ("think") and open-r1 ("answer", "tags"). Confidence: code.
    """

    rule: Literal["think", "answer", "tags", "pattern"] = "think"
    pattern: str = ""
    weight: float = 1.0
    prefix: str = ""

    @hookimpl
    def score(self, rollouts: Any) -> Mapping[str, Tensor]:
        """The column `form`."""
        found = [self.weight * self.rate(text) for text in rollouts.texts]
        return {"form": rollouts.logp.new_tensor(found)}

    def rate(self, text: str) -> float:
        """How well one text keeps to the rule, 0 to 1."""
        text = self.prefix + text
        if self.rule == "tags":
            return sum(text.count(tag) == 1 for tag in TAGS) / len(TAGS)
        pattern = {"think": THINK, "answer": ANSWER}.get(self.rule) or re.compile(self.pattern, re.DOTALL)
        return float(pattern.fullmatch(text) is not None)
