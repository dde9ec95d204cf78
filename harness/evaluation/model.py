"""A policy as a model that lm-eval can ask: text from our sampler, log-probabilities from our forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM

from harness.evaluation.answers import Answer, stopped
from harness.evaluation.asked import chunks, runs
from harness.policies.padding import length_mask, pad_left, pad_right
from harness.policies.policy import Policy
from harness.policies.rollouts import Request
from harness.policies.sampler import Sampler

__all__ = ["PolicyLM"]

STREAM = "evaluation"  # its noise is its own: evaluating never moves what training draws
OURS = "harness_"  # task names of bundled files: their documents have unique keys, those of others may be anything
DEFAULT_TOKENS = 256  # lm-eval's own limit where a task names none
DEFAULT_CONTEXT = 2048


class PolicyLM(LM):
    """A policy behind lm-eval's interface.

    `seed` keys all sampling noise, with the problem's key and the sample's number, so a problem's samples do not depend
    on which others are asked. `batch` is the most completions at a time. With `chat`, lm-eval renders the chat template
    (few-shot tasks); without it prompts go through the policy's own `encode_prompt`.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        seed: int,
        batch: int = 256,
        max_tokens: int | None = None,
        temperature: float | None = None,
        system: str | None = None,
        chat: bool = False,
    ) -> None:
        super().__init__()
        self.policy = policy
        self.sampler = Sampler(policy)
        self.seed = seed
        self.batch = batch
        self.max_tokens = max_tokens
        self.temperature = temperature
        self.system = system
        self.chat = chat
        self.shortened: set[tuple[str, int]] = set()  # documents whose prompt did not fit: (task, number)

    # -- generation ----------------------------------------------------------------------------------------------

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """A text per request, in order. A repeated request gets further samples.

        `greedy_first` in a task's generation_kwargs makes the first of the repeats greedy; without sampling all are.
        """
        asked = list(runs(requests))
        answers: list[str] = []
        for chunk in chunks(asked, self.batch):
            wanted = [request for instance, count in chunk for request in self._requests(instance, count)]
            rollouts = self.sampler.generate(wanted, seed=self.seed, step=0, stream=STREAM)
            lengths, cut = rollouts.lengths.tolist(), rollouts.truncated.tolist()
            texts = [Answer.of(*row) for row in zip(rollouts.texts, lengths, cut, strict=True)]
            at = 0
            for instance, count in chunk:
                until = _until(instance.args[1])
                mine = texts[at : at + (count if _samples(instance.args[1]) else 1)]
                at += len(mine)
                mine = [stopped(text, until) for text in mine]
                answers += mine if len(mine) == count else mine * count  # greedy copies are one text
        return answers

    def _requests(self, instance: Instance, count: int) -> list[Request]:
        context, options = instance.args[0], instance.args[1]
        limit = self.max_tokens or int(options.get("max_gen_toks", DEFAULT_TOKENS))
        ids = self._fitting(instance, self._encode(context), limit)
        ours = isinstance(instance.doc, dict) and str(instance.task_name).startswith(OURS)
        key = str((ours and instance.doc.get("key")) or f"{instance.task_name}/{instance.doc_id}")
        greedy = Request(key, ids, 1, max_tokens=limit, greedy=True)
        if not _samples(options):
            return [greedy]
        first = int(bool(options.get("greedy_first")))
        temperature = self.temperature or float(options.get("temperature") or 1.0)
        sampled = Request(key, ids, count - first, temperature=temperature, max_tokens=limit)
        return [greedy, sampled] if first else [sampled]

    def _fitting(self, instance: Instance, ids: list[int], limit: int) -> tuple[int, ...]:
        """The end of a prompt that leaves no room for its answer, as lm-eval's own models keep it; and say so."""
        room = max(self.context - limit, 1)
        if len(ids) > room:
            self.shortened.add((str(instance.task_name), int(instance.doc_id or 0)))
        return tuple(ids[-room:])

    def _encode(self, context: str) -> list[int]:
        return self.policy.encode(context) if self.chat else self.policy.encode_prompt(context, self.system)

    # -- log-probabilities ---------------------------------------------------------------------------------------

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Log-probability of each continuation after its context, and whether greedy decoding would write it."""
        pairs = []
        for request in requests:
            context, continuation = request.args
            kept = len(context) - len(context.rstrip())
            if kept:  # a trailing space belongs to the continuation's first token
                context, continuation = context[:-kept], context[-kept:] + continuation
            prompt = self._encode(context)
            whole = self._encode(context + continuation)
            same = whole[: len(prompt)] == prompt and len(whole) > len(prompt)
            pairs.append((prompt, whole[len(prompt) :] if same else self.policy.encode(continuation)))
        return self._score(pairs)

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        """Log-probability of whole texts, in windows of the model's context length, every token predicted once."""
        from lm_eval.utils import get_rolling_token_windows, make_disjoint_window

        totals = []
        bos = self.policy.tokenizer.bos_token_id
        prefix = next(token for token in (bos, *self.policy.stop_ids, self.policy.pad_id) if token is not None)
        for request in requests:
            windows = get_rolling_token_windows(
                token_list=self.policy.encode(request.args[0]),
                prefix_token=prefix,
                max_seq_len=self.context,
                context_len=1,
            )
            scores = self._score([(list(a), list(b)) for a, b in map(make_disjoint_window, windows)])
            totals.append(sum(value for value, _ in scores))
        return totals

    @property
    def context(self) -> int:
        """How many tokens the model can see."""
        return self.policy.context or DEFAULT_CONTEXT

    def _score(self, pairs: Sequence[tuple[list[int], list[int]]]) -> list[tuple[float, bool]]:
        order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]) + len(pairs[i][1]))
        results: list[tuple[float, bool]] = [(0.0, True)] * len(pairs)
        for start in range(0, len(order), self.batch):
            rows = order[start : start + self.batch]
            shown = [pairs[i][0][-max(self.context - len(pairs[i][1]), 1) :] for i in rows]  # the end of a long context
            prompts, prompt_mask = pad_left(shown, self.policy.pad_id)
            device = self.policy.device
            ids = pad_right([pairs[i][1] for i in rows], self.policy.pad_id, torch.long).to(device)
            inside = length_mask(torch.tensor([len(pairs[i][1]) for i in rows]), ids.shape[1]).to(device)
            with torch.inference_mode():
                out = self.policy.forward(prompts.to(device), prompt_mask.to(device), ids, inside, needs={"top_logits"})
            assert out.top_logits is not None
            greedy = ((out.top_logits.ids[..., 0] == ids) | ~inside).all(-1).tolist()
            totals = torch.where(inside, out.logp, 0.0).double().sum(-1).tolist()
            for i, total, best in zip(rows, totals, greedy, strict=True):
                results[i] = (total, best)
        return results

    # -- chat ----------------------------------------------------------------------------------------------------

    @property
    def tokenizer_name(self) -> str:
        """What lm-eval names its request cache by."""
        return str(getattr(self.policy.tokenizer, "name_or_path", ""))

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """The conversation as one text, by the template and its options as in training."""
        said = self.policy.text
        if chat_history and chat_history[0]["role"] == "system" and not said.takes_system:
            system, chat_history = chat_history[0]["content"], chat_history[1:]
            first = dict(chat_history[0])
            chat_history = [first | {"content": f"{system}\n\n{first['content']}"}, *chat_history[1:]]
        return str(
            self.policy.tokenizer.apply_chat_template(
                chat_history, tokenize=False, add_generation_prompt=add_generation_prompt,
                continue_final_message=not add_generation_prompt, **said.options,
            )
        )  # fmt: skip


def _samples(options: dict[str, Any]) -> bool:
    return bool(options.get("do_sample")) or float(options.get("temperature") or 0) > 0


def _until(options: dict[str, Any]) -> list[str]:
    until = options.get("until") or []
    return [until] if isinstance(until, str) else list(until)
