"""Files of rows as people have them: marks of byte order, line separators within a field, files that break off."""

import gzip
import json

import pytest

from harness.errors import UsageError
from harness.tasks.hf import DatasetTask
from harness.tasks.rows import file_rows

ROW = {"q": "1+1", "a": "2"}


def test_a_mark_of_byte_order_is_no_part_of_the_first_column(tmp_path):
    texts = {"a.csv": "q,a\n1+1,2\n", "a.jsonl": json.dumps(ROW), "a.json": json.dumps([ROW])}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
        assert file_rows(tmp_path / name, "t") == [ROW]


def test_a_field_of_a_table_may_have_lines(tmp_path):
    (tmp_path / "a.csv").write_text('q,a\n"one\nand ""two""",2\na\u2028b\x0bc,3\n', encoding="utf-8")
    assert [row["q"] for row in file_rows(tmp_path / "a.csv", "t")] == ['one\nand "two"', "a\u2028b\x0bc"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"q,a\n1,2,3\n", "named fields"),
        ("a.csv", b"q,a\n" + b"x" * 200_000, "field limit"),
        ("a.json", b"5", "cannot be read"),
        ("a.jsonl", b"\xff", "cannot be read"),
        ("a.jsonl", b'{"q": 1}\n\n{q: 2}\n', "line 3 is no JSON"),
        ("a.jsonl.gz", gzip.compress(b'{"q": 1}\n' * 999, mtime=0)[:-20], "cannot be read"),
        ("a.jsonl.gz", b"no", "cannot be read"),
        ("a.parquet", b"no", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=message) as raised:
        file_rows(tmp_path / name, "t")
    assert "\n" not in str(raised.value)


def test_rows_without_a_question_or_with_an_unmatched_pattern_are_left_out(tmp_path):
    rows = [ROW, {"q": " ", "a": "2"}, {"q": None, "a": "3"}, {"q": "2+2", "a": "x"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    files = {"test": str(tmp_path / "a.jsonl")}
    task = DatasetTask(name="t", files=files, question="q", answer="a", answer_pattern=r"(\d)|x")
    assert [problem.prompt for problem in task.problems("test")] == ["1+1"]
    assert task.counts.unreadable == 3
