import pytest
import torch

from harness.errors import HarnessError, UsageError
from harness.policies.generic import GenericBackbone
from harness.policies.policy import Policy
from harness.policies.random import tiny_policy


@pytest.fixture(params=["lean", "generic"])
def policy(request):
    chosen = tiny_policy(dtype="float64")
    if request.param == "generic":
        chosen.backbone = GenericBackbone(chosen.model, chosen.precision)
    return chosen


def batch_of(policy, rows):
    """Prompts and completions given as texts, padded."""
    from harness.policies.padding import pad_left, pad_right

    prompts, mask = pad_left([policy.encode_prompt(prompt) for prompt, _ in rows], policy.pad_id)
    completions = [policy.encode(completion) for _, completion in rows]
    lengths = torch.tensor([len(c) for c in completions])
    return prompts, mask, pad_right(completions, policy.pad_id, torch.long), lengths


ROWS = [("1+1=", "2"), ("12+34=", "12+34=46;#46"), ("a", ""), ("1+1=", "3 or 2")]


def test_text_and_tokens(policy):
    assert policy.decode(policy.encode("12+3=\n")) == "12+3=\n"
    assert policy.encode_prompt("1") == [1, *policy.encode("1")]
    assert policy.encode_prompt("1", system="x")[1:] == policy.encode("x\n\n1")
    assert policy.token_texts(policy.encode("1+2")) == ["1", "+", "2"]
    assert (policy.pad_id, policy.stop_ids, policy.chat) == (0, (2,), False)
    assert policy.n_params == sum(p.numel() for p in policy.model.parameters())


def test_chat_template_is_used_where_there_is_one(policy):
    policy.tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }}:{{ m['content'] }};{% endfor %}a:"
    chat = Policy(policy.model, policy.tokenizer)
    assert chat.decode(chat.encode_prompt("hi", system="be")) == "system:be;user:hi;a:"
    assert Policy(policy.model, policy.tokenizer, chat=False).encode_prompt("hi") == policy.encode_prompt("hi")


def test_padding_and_neighbours_change_nothing(policy):
    prompts, mask, completions, lengths = batch_of(policy, ROWS)
    together = policy.forward(prompts, mask, completions, lengths, needs={"entropy", "hidden", "top_logits"})
    for row in range(len(ROWS)):
        own = batch_of(policy, ROWS[row : row + 1])
        alone = policy.forward(*own, needs={"entropy", "hidden", "top_logits"})
        width = own[2].shape[1]
        assert torch.allclose(alone.logp[0], together.logp[row, :width], atol=1e-6)
        assert torch.allclose(alone.entropy[0], together.entropy[row, :width], atol=1e-6)
        assert torch.allclose(alone.hidden[0], together.hidden[row, :width], atol=1e-6)
        assert torch.allclose(alone.prompt_hidden[0], together.prompt_hidden[row], atol=1e-6)
        assert torch.allclose(alone.top_logits.logp[0], together.top_logits.logp[row, :width], atol=1e-6)
    wide = torch.nn.functional.pad(completions, (0, 4), value=7), torch.nn.functional.pad(prompts, (3, 0), value=9)
    padded = policy.forward(wide[1], torch.nn.functional.pad(mask, (3, 0)), wide[0], lengths)
    assert torch.allclose(padded.logp[:, : completions.shape[1]], together.logp, atol=1e-6)
    assert padded.logp[:, completions.shape[1] :].eq(0).all()


def test_numbers_equal_a_loop_over_the_model(policy):
    prompts, mask, completions, lengths = batch_of(policy, ROWS)
    out = policy.forward(prompts, mask, completions, lengths, temperature=torch.tensor([1.0, 0.5, 1.0, 2.0]))
    for row, temperature in enumerate((1.0, 0.5, 1.0, 2.0)):
        prompt, completion = prompts[row][mask[row]], completions[row, : lengths[row]]
        logits = policy.model(torch.cat([prompt, completion])[None]).logits[0, len(prompt) - 1 : -1]
        if len(completion):
            logp = torch.log_softmax(logits / temperature, -1)[torch.arange(len(completion)), completion]
            assert torch.allclose(out.logp[row, : len(completion)], logp, atol=1e-6)


def test_a_hole_in_the_mask_is_read_but_not_scored(policy):
    prompts, mask, completions, lengths = batch_of(policy, ROWS)
    full = policy.forward(prompts, mask, completions, lengths).logp
    holes = (torch.arange(completions.shape[1]) < lengths[:, None]).double()
    holes[1, 3:6] = 0
    out = policy.forward(prompts, mask, completions, holes).logp
    assert out[1, 3:6].eq(0).all()
    assert torch.allclose(out, full * holes, atol=1e-9)


def test_empty_batches_and_empty_completions(policy):
    prompts, mask, completions, lengths = batch_of(policy, ROWS)
    none = policy.forward(prompts[:0], mask[:0], completions[:0], lengths[:0], needs={"hidden"})
    assert none.logp.shape == (0, completions.shape[1])
    blank = policy.forward(prompts, mask, completions[:, :0], torch.zeros(4, dtype=torch.long), needs={"hidden"})
    assert blank.logp.shape == (4, 0)
    reference = policy.forward(prompts, mask, completions, lengths, needs={"hidden"})
    assert torch.allclose(blank.prompt_hidden, reference.prompt_hidden, atol=1e-6)
    nothing = policy.forward(prompts, mask, completions, torch.zeros(4, dtype=torch.long))
    assert nothing.logp.eq(0).all()
    nothing.logp.sum().backward()


def test_score_takes_ragged_lists_without_gradient(policy):
    prompts = [policy.encode_prompt(prompt) for prompt, _ in ROWS]
    completions = [policy.encode(completion) for _, completion in ROWS]
    logp = policy.score(prompts, completions)
    assert not logp.requires_grad
    assert torch.allclose(logp, policy.forward(*batch_of(policy, ROWS)).logp, atol=1e-9)


def test_top_logits_are_the_likeliest(policy):
    out = policy.forward(*batch_of(policy, ROWS), needs={"top_logits"})
    assert out.top_logits.ids.shape == (4, 12, 20)
    assert (out.top_logits.logp[1].diff(dim=-1) <= 0).all()
    assert out.top_logits.logp[2].eq(0).all()


def test_unknown_names_are_one_line(policy):
    with pytest.raises(UsageError, match=r"need 'entropie' is unknown. Did you mean 'entropy'"):
        policy.forward(*batch_of(policy, ROWS), needs={"entropie"})
    with pytest.raises(UsageError, match=r"dtype 'float23' is unknown. Did you mean 'float32'"):
        Policy(policy.model, policy.tokenizer, precision="float23")


def test_saved_loaded_and_digested(tmp_path):
    policy = tiny_policy()
    policy.save(tmp_path)
    loaded = Policy.load(tmp_path)
    assert loaded.digest() == policy.digest()
    assert torch.equal(loaded.forward(*batch_of(loaded, ROWS)).logp, policy.forward(*batch_of(policy, ROWS)).logp)
    with torch.no_grad():
        loaded.model.lm_head.weight[0, 0] += 1
    assert loaded.digest() != policy.digest()
    (tmp_path / "model.safetensors").write_bytes(b"junk")
    with pytest.raises(HarnessError, match="transformers cannot load") as caught:
        Policy.load(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tie", [True, False])
def test_saved_in_bfloat16_it_is_rounded_once_and_half_as_large(tmp_path, tie):
    policy = tiny_policy(tie=tie)
    policy.save(tmp_path / "whole")
    policy.save(tmp_path / "half", torch.bfloat16)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("whole", "half")]
    assert sizes[1] < 0.6 * sizes[0]
    loaded = Policy.load(tmp_path / "half").model.state_dict()
    for name, x in policy.model.state_dict().items():
        assert torch.equal(loaded[name], x.to(torch.bfloat16).float()), name


def test_a_clone_is_frozen_and_stays():
    policy = tiny_policy()
    clone = policy.clone()
    before = policy.forward(*batch_of(policy, ROWS)).logp.detach()
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter.mul_(1.1)
    out = clone.forward(*batch_of(clone, ROWS)).logp
    assert torch.equal(out, before)
    assert not out.requires_grad
    assert policy.forward(*batch_of(policy, ROWS)).logp.requires_grad


@pytest.mark.parametrize("device", ["cud", "cuda:99", ""])
def test_a_device_that_is_not_there_is_one_line(device):
    with pytest.raises(UsageError, match=rf"policy\.device '{device}'") as raised:
        Policy.load("embedded", device=device)
    assert "\n" not in str(raised.value)
