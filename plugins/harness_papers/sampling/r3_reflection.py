"""R3, reflection: a prompt that stays hard is asked again beside an earlier wrong answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness import Groups, hookimpl, method

if TYPE_CHECKING:
    from harness import Batch


@method(
    name="r3-reflection",
    paper="2601.19620",
    base="grpo(beta=0)",
    experimental=True,
    active={"at_once": True, "tau": 1.0},
)
class R3Reflection:
    """A prompt whose last completions were mostly wrong is asked again together with one of them.

    If the share of right completions at the prompt's last visit was below `tau`, `template` with prompt and a wrong
    answer of then is asked in its place; the completions are scored, grouped and trained under that prompt.

    The paper has a reflection instruction, from the second epoch on; a first visit is never below tau. at_once: ask
    prompts below tau again in the same step too, if the suite has a second round (ours: short trials never see a prompt
    twice). tau and template are ours.
    State: of every prompt the last share, and one wrong answer.
    Edge cases: all right at the last visit asks the plain prompt; the shown answer is the first wrong one.
    Source: arXiv 2601.19620, excerpts; the authors' code was not found. Confidence: paper (constants assumed).
    """

    tau: float = 0.25
    at_once: bool = False
    template: str = "{prompt}{answer}\nwrong\n{prompt}"

    @hookimpl
    def start(self) -> None:
        """No prompt has been visited."""
        self.visits: dict[str, tuple[float, str]] = {}  # share of right completions, a wrong one

    @hookimpl(wrapper=True)
    def allocate_rollouts(self, state: Any) -> Generator[None, Sequence[Any], Sequence[Any]]:
        """The requests below, some of them with another text."""
        requests = yield
        return [self._reflect(request, state) for request in requests]

    def _reflect(self, request: Any, state: Any) -> Any:
        share, answer = self.visits.get(request.key, (1.0, ""))
        if share >= self.tau or not answer:
            return request
        text = self.template.format(prompt=state.pool.problem(request.key).prompt, answer=answer)
        return dataclasses.replace(request, prompt_ids=state.request(request.key, text=text).prompt_ids)

    @hookimpl
    def next_round(self, batch: Batch, round: int, state: Any) -> Sequence[Any] | None:  # noqa: A002 - its name
        """The prompts that went badly, beside one of their wrong answers."""
        if round > 0 or not self.at_once:
            return None
        self.note(batch, state.policy)
        keys = dict.fromkeys(record.key for record in batch.prompts)
        again = [self._reflect(state.request(key), state) for key in keys if self.visits[key][0] < self.tau]
        return again or None

    @hookimpl
    def end_step(self, state: Any) -> Mapping[str, float]:
        """Note how the step's prompts went."""
        self.note(state.gathered, state.policy)
        return {"prompts_to_reflect_on": float(sum(share < self.tau for share, _ in self.visits.values()))}

    def note(self, batch: Batch, policy: Any) -> None:
        """The share of right completions of every prompt of the batch, and a wrong one."""
        prompts = Groups(batch.prompt)
        shares = prompts.mean(batch.correct, expand=False).tolist()
        wrong = prompts.rank(batch.rollout.to(batch.rewards.dtype), ~batch.correct) == 0
        shown = dict(zip(batch.prompt[wrong].tolist(), wrong.nonzero()[:, 0].tolist(), strict=True))
        for row, share in zip(prompts.first.tolist(), shares, strict=True):
            place = shown.get(int(batch.prompt[row]))
            answer = "" if place is None else self._text(batch, place, policy)
            self.visits[batch.prompts[row].key] = (share, answer)

    @staticmethod
    def _text(batch: Batch, row: int, policy: Any) -> str:
        ids = batch.completion_ids[row, : int(batch.lengths[row])].tolist()
        return str(policy.decode([token for token in ids if token not in policy.stop_ids]))
