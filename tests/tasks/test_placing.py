"""Each problem once and in one split, told apart by its normalised prompt."""

import json

import pytest

from harness.tasks.base import Problem, hash_split
from harness.tasks.fields import normalized
from harness.tasks.hf import DatasetTask
from harness.tasks.load import load_task
from harness.tasks.placing import Counts, place, shared


def problems(*prompts):
    return [Problem(f"t:{prompt}", prompt, "t", "1") for prompt in prompts]


def test_case_spacing_and_unicode_make_no_other_problem():
    assert normalized("What  is\n２+2 ?") == normalized("what is 2+2 ?")
    assert normalized("Café") == normalized("Cafe\u0301")
    assert normalized("2+2") != normalized("2+3")


def test_the_last_split_keeps_what_several_have():
    counts = Counts()
    found = {
        "train": problems("a", "b", "C", "a "),
        "validation": problems("d", "B"),
        "test": problems("c", "e"),
    }
    placed = place(found, counts)
    assert [p.prompt for p in placed["train"]] == ["a"]
    assert [p.prompt for p in placed["validation"]] == ["d", "B"]
    assert [p.prompt for p in placed["test"]] == ["c", "e"]
    assert (counts.duplicates, counts.overlap) == (1, 2)
    assert shared(found) == {"train/validation": 1, "train/test": 1}
    assert shared(placed) == {}


def test_splits_that_the_data_lack_are_cut_out_of_train_by_the_hash():
    prompts = [f"what is {i}?" for i in range(300)]
    placed = place({"train": problems(*prompts)}, Counts())
    assert sum(map(len, placed.values())) == 300
    for split, found in placed.items():
        assert found
        assert all(hash_split(p.prompt) == split for p in found)
    both = place({"train": problems(*prompts), "test": problems("other")}, Counts())
    assert [p.prompt for p in both["test"]] == ["other"]
    assert both["validation"] == placed["validation"]


def test_counts_in_words():
    assert Counts(rows=5).told() == ""
    said = Counts(rows=9, unreadable=1, left_out=2, duplicates=3, overlap=1).told()
    assert said.startswith("of 9 rows 1 have no answer that can be checked, 2 left out by keep, ")
    assert said.endswith("3 are duplicates, 1 stand in a later split too")


def test_a_data_set_with_leaks_says_so(tmp_path):
    rows = [{"question": f"Q {i}", "answer": str(i)} for i in range(20)]
    for name, some in (
        ("train", rows[:12] + rows[:2]),
        ("test", [{**r, "question": r["question"].upper()} for r in rows[9:]]),
    ):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, some)))
    task = DatasetTask(name="leaky", files={s: str(tmp_path / f"{s}.jsonl") for s in ("train", "test")})
    assert shared({split: task.problems(split) for split in ("train", "validation", "test")}) == {}
    assert len(task.problems("test")) == 11
    assert task.notes() == ["leaky: of 25 rows 2 are duplicates, 3 stand in a later split too"]


@pytest.mark.parametrize("name", ["math", "code", "word-problems", "python-functions"])
def test_the_generated_tasks_share_nothing(name):
    task = load_task(name)
    assert shared({split: task.problems(split) for split in ("train", "validation", "test")}) == {}
