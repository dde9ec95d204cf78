"""The model as lm-eval sees it, and our files under lm-eval's own evaluator."""

import lm_eval
import numpy as np
import pytest
import torch
from lm_eval.api.instance import Instance
from lm_eval.tasks import TaskManager

from harness.evaluation.bundled import TASK_FILES
from harness.evaluation.model import PolicyLM
from harness.evaluation.quiet import silent
from harness.policies.policy import Policy
from harness.policies.random import tiny_policy


@pytest.fixture
def model(tiny):
    return PolicyLM(tiny, seed=0, batch=3)


def instance(kind, *arguments, doc_id=0, task="t"):
    return Instance(request_type=kind, doc={}, arguments=arguments, idx=0, metadata=(task, doc_id, 1))


# -- the model ---------------------------------------------------------------------------------------------------


def test_log_likelihoods_are_the_models(tiny, model):
    pairs = [("12+3=", "15"), ("a", "b c"), ("x", "9"), ("long context, ", "and a longer answer"), ("", "q")]
    results = model.loglikelihood([instance("loglikelihood", *pair) for pair in pairs])
    for (given, asked), (total, greedy) in zip(pairs, results, strict=True):
        context = given.rstrip()
        continuation = given[len(context) :] + asked
        prompt, ids = tiny.encode_prompt(context), tiny.encode(continuation)
        with torch.no_grad():
            logits = tiny.model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1].log_softmax(-1)
        assert total == pytest.approx(logits.gather(1, torch.tensor(ids)[:, None]).sum().item(), abs=1e-4)
        assert greedy == (logits.argmax(-1).tolist() == ids)


def test_the_greedy_text_is_said_to_be_greedy(tiny, model):
    text = model.generate_until([instance("generate_until", "12=", {"until": [], "max_gen_toks": 4})])[0]
    assert model.loglikelihood([instance("loglikelihood", "12=", str(text))])[0][1]


def test_rolling_likelihood_counts_every_token_once(tiny, model):
    text = "the whole of a text"
    total = model.loglikelihood_rolling([instance("loglikelihood_rolling", text)])[0]
    ids = tiny.encode(text)
    with torch.no_grad():
        logits = tiny.model(torch.tensor([tiny.encode_prompt("") + ids])).logits[0, :-1].log_softmax(-1)
    assert total == pytest.approx(logits.gather(1, torch.tensor(ids)[:, None]).sum().item(), abs=1e-4)


TEMPLATE = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{{ strftime_now('%Y') }}{% for m in messages %}{{ m['content'] }};{% endfor %}{{ 'short' if brief }}"
)


def test_conversations_are_written_as_in_training():
    tokenizer = tiny_policy().tokenizer
    tokenizer.chat_template = TEMPLATE
    policy = Policy(tiny_policy().model, tokenizer, chat_options={"brief": True})
    model = PolicyLM(policy, seed=0, chat=True)
    turns = [{"role": "system", "content": "be"}, {"role": "user", "content": "hi"}]
    assert model.apply_chat_template(turns) == policy.text.rendered("hi", "be") == "2024be\n\nhi;short"
    assert turns[1] == {"role": "user", "content": "hi"}
    texts = [instance("loglikelihood_rolling", "a text")]
    plain = PolicyLM(tiny_policy(), seed=0).loglikelihood_rolling(texts)
    assert model.loglikelihood_rolling(texts) == plain, "a text begins as without a template"


def test_documents_of_others_may_have_a_column_named_key(model):
    def asked(doc_id, task):
        options = {"until": [], "max_gen_toks": 9, "do_sample": True}
        return Instance("generate_until", {"key": "A"}, ("12=", options), 0, (task, doc_id, 1))

    one, two = model.generate_until([asked(0, "t"), asked(1, "t")])
    assert one != two
    one, two = model.generate_until([asked(0, "harness_math"), asked(1, "harness_math")])
    assert one == two


def test_a_long_context_keeps_its_end(tiny, model):
    long = "x" * 2000
    value, _ = model.loglikelihood([instance("loglikelihood", long, "7")])[0]
    assert np.isfinite(value)


def test_stop_texts_cut_and_are_not_truncation(model):
    options = {"until": [], "max_gen_toks": 12}
    whole = model.generate_until([instance("generate_until", "5*5=", options)])[0]
    stop = whole[2:4]
    cut = model.generate_until([instance("generate_until", "5*5=", options | {"until": ["never", stop]})])[0]
    assert cut == whole[: whole.index(stop)]
    assert not cut.truncated
    assert model.generate_until([instance("generate_until", "5*5=", options | {"until": stop})])[0] == cut


def test_repeats_are_samples_only_where_the_task_samples(model):
    greedy = instance("generate_until", "12=", {"until": [], "max_gen_toks": 6})
    sampled = instance("generate_until", "12=", {"until": [], "max_gen_toks": 6, "temperature": 1.0}, doc_id=1)
    texts = model.generate_until([greedy, greedy, sampled, sampled, sampled])
    assert texts[0] == texts[1]
    assert len(set(texts[2:])) > 1


# -- our files under lm-eval -------------------------------------------------------------------------------------


def test_the_files_stand_alone(embedded):
    tasks = TaskManager(include_path=str(TASK_FILES), include_defaults=False).load(["harness_math", "harness_code"])
    lm = PolicyLM(embedded, seed=0)
    with silent():
        results = lm_eval.evaluate(lm=lm, task_dict=tasks, limit=3, bootstrap_iters=0, log_samples=True)
    for name in ("harness_math", "harness_code"):
        assert {"accuracy,scored", "pass_at_1,scored", "pass_at_k,scored"} <= set(results["results"][name])
        samples = results["samples"][name]
        assert len(samples) == 3
        assert len(samples[0]["resps"][0]) == 5
