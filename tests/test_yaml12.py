import math

import pytest

from harness.errors import UsageError
from harness.yaml12 import dump, load, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4), ("1E5", 1e5), ("3.0e-5", 3e-5), ("-.5", -0.5), ("1.", 1.0), ("1_200_000", 1_200_000),
        ("010", 10), ("0o17", 15), ("0x1F", 31), ("-7", -7), ("no", "no"), ("yes", "yes"), ("on", "on"), ("off", "off"),
        ("true", True), ("False", False), ("~", None), ("", None), ("null", None), ("1:30", "1:30"), ("n", "n"),
        ("2024-01-01", "2024-01-01"), ("'1e-4'", "1e-4"), (".inf", math.inf), ("-.inf", -math.inf),
        ("1e", "1e"), ("_1", "_1"), ("e5", "e5"), ("4GiB", "4GiB"), ("grpo(beta=0)", "grpo(beta=0)"), ("+", "+"),
        ("-", [None]),
    ],
)  # fmt: skip
def test_scalars_read_as_yaml_1_2(text, value):
    read, _ = parse(f"key: {text}" if text != "-" else "key:\n  -", "x")
    assert read["key"] == value
    assert type(read["key"]) is type(value)
    assert parse(dump(read), "x")[0] == read


def test_nan():
    assert math.isnan(parse("a: .nan", "x")[0]["a"])


@pytest.mark.parametrize(
    ("text", "line", "fault"),
    [
        ("a: 1\nb: 2\na: 3", 3, "'a' comes twice"),
        ("a:\n  b: 1\n  b: 1", 3, "'b' comes twice"),
        ("a: [1", 1, "expected"),
    ],
)
def test_faults_name_file_and_line(text, line, fault):
    with pytest.raises(UsageError, match=rf"^x\.yaml:{line}: not valid YAML: .*{fault}"):
        parse(text, "x.yaml")


def test_unsafe_tags_are_refused():
    with pytest.raises(UsageError, match="not valid YAML"):
        parse("a: !!python/object/apply:os.system ['true']", "x")


def test_lines_of_keys_and_items():
    _, lines = parse("a:\n  b: 1\nc:\n  - x\n  - {d: 2}\n", "x")
    assert lines["a", "b"] == 2
    assert lines["c", 1] == 5
    assert lines["c", 1, "d"] == 5


def test_merge_keys_work():
    assert parse("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2", "x")[0]["c"] == {"b": 1, "d": 2}


def test_unreadable_file(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path / "none.yaml")
