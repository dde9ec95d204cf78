"""Chat templates as models have them, and what ends a completion."""

from __future__ import annotations

import pytest

from harness.errors import HarnessError, UsageError
from harness.policies.policy import Policy
from harness.policies.random import tiny_policy
from harness.policies.text import Text

CHATTY = (
    "{% for m in messages %}{{ '<bos>' if loop.first else '' }}{{ m['role'] }}:{{ m['content'] }};{% endfor %}"
    "{% if add_generation_prompt %}a:{% endif %}"
)
REFUSING = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHATTY
DEAF = "{% for m in messages if m['role'] == 'user' %}{{ m['content'] }}{% endfor %}a:"
THINKING = CHATTY + "{% if enable_thinking is defined and not enable_thinking %}(no){% endif %}"
DATED = "{{ strftime_now('%d %B %Y') }} " + CHATTY
STRICT = "{% if not effort is defined %}{{ raise_exception('say which effort') }}{% endif %}" + CHATTY


@pytest.fixture
def tokenizer():
    return tiny_policy().tokenizer


def text_of(tokenizer, template, **options):
    tokenizer.chat_template = template
    return Text(tokenizer, options=options)


def shown(text, *prompt):
    return text.decode_all([text.prompt(*prompt)])[0]


def test_the_prompt_ends_where_the_answer_begins(tokenizer):
    text = text_of(tokenizer, CHATTY)
    assert text.chat
    assert text.rendered("hi", "be") == "<bos>system:be;user:hi;a:"


def test_bos_comes_once(tokenizer):
    text = text_of(tokenizer, CHATTY)
    ids = text.prompt("hi")
    assert (ids[0], ids.count(1)) == (1, 1)
    doubled = text_of(tokenizer, "<bos>" + CHATTY)
    assert doubled.prompt("hi") == ids


@pytest.mark.parametrize("template", [REFUSING, DEAF], ids=["refuses", "leaves out"])
def test_without_a_system_role_it_goes_in_front_of_the_users_turn(tokenizer, template):
    text = text_of(tokenizer, template)
    assert not text.takes_system
    assert shown(text, "hi", "be").endswith("be\n\nhi" + (";a:" if template is REFUSING else "a:"))
    assert text_of(tokenizer, CHATTY).takes_system


def test_variables_of_a_template(tokenizer):
    assert shown(text_of(tokenizer, THINKING, enable_thinking=False), "hi").endswith("(no)")
    assert shown(text_of(tokenizer, THINKING), "hi").endswith("a:")
    with pytest.raises(HarnessError, match=r"refuses a prompt: say which effort; see policy.chat_options"):
        text_of(tokenizer, STRICT).prompt("hi")
    assert text_of(tokenizer, STRICT, effort="low").prompt("hi")
    with pytest.raises(UsageError, match="'tokenize' is the harness's own"):
        text_of(tokenizer, CHATTY, tokenize=True)


def test_the_date_of_a_prompt_never_moves(tokenizer):
    assert text_of(tokenizer, DATED).rendered("hi").startswith("26 July 2024 ")


def test_chat_without_a_template_is_refused(tokenizer):
    with pytest.raises(UsageError, match=r"policy.chat is true, but the tokenizer has no chat template"):
        Text(tokenizer, chat=True)


def test_whatever_ends_a_completion():
    policy = tiny_policy()
    policy.model.generation_config.eos_token_id = [2, 7]
    assert Policy(policy.model, policy.tokenizer, stop=[";", "#"]).stop_ids == (2, 7, *policy.encode(";#"))
    with pytest.raises(UsageError, match=r"policy.stop: '12' is 2 tokens"):
        Policy(policy.model, policy.tokenizer, stop=["12"])


def test_padding_that_is_the_end_token_too():
    """Masks come from lengths: the end token counts and trains, what follows it does not."""
    from tests.policies.networks import sampled, scored

    policy = tiny_policy()
    policy.model.lm_head.weight.data[2] = policy.model.lm_head.weight.data.mean(0) * 4  # ends now and then
    before = sampled(policy, tokens=30)
    for token in (None, policy.tokenizer.eos_token):
        policy.tokenizer.pad_token = token
        same = Policy(policy.model, policy.tokenizer)
        assert same.pad_id == 2
        rollouts = sampled(same, tokens=30)
        ended = (~rollouts.truncated).nonzero()[:, 0]
        assert len(ended)
        last = rollouts.completion_ids[ended, rollouts.lengths[ended] - 1]
        assert last.eq(2).all()
        assert rollouts.mask[ended, rollouts.lengths[ended] - 1].eq(1).all()
        assert rollouts.mask.sum(1).eq(rollouts.lengths).all()
        assert rollouts.texts == before.texts
        logp = scored(same, rollouts).logp
        assert logp[ended, rollouts.lengths[ended] - 1].ne(0).all()
        assert logp[rollouts.mask == 0].eq(0).all()
