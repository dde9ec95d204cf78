from harness.policies.chars import SPECIAL, char_tokenizer


def test_round_trip_with_newlines_spaces_and_signs():
    tokenizer = char_tokenizer("0123456789+-= \n#;abc")
    text = " 12 + 3=\n#15;  a"
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert len(ids) == len(text)
    assert tokenizer.decode(ids, skip_special_tokens=False) == text


def test_ids_follow_the_order_given():
    tokenizer = char_tokenizer("ba")
    assert [tokenizer.convert_tokens_to_ids(token) for token in (*SPECIAL, "b", "a")] == list(range(6))
    assert (tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id) == (0, 1, 2)


def test_bos_before_a_prompt_only_where_wanted():
    assert char_tokenizer("ab")("ab")["input_ids"] == [1, 4, 5]
    assert char_tokenizer("ab", bos=False)("ab")["input_ids"] == [4, 5]


def test_unknown_characters_become_unk():
    assert char_tokenizer("ab")("a?b", add_special_tokens=False)["input_ids"] == [4, 3, 5]


def test_saved_and_loaded_by_transformers(tmp_path):
    from transformers import AutoTokenizer

    char_tokenizer("0123+=").save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)
    assert loaded("12+3=")["input_ids"] == [1, 5, 6, 8, 7, 9]
    assert loaded.decode([5, 6, 8, 7, 9]) == "12+3="
