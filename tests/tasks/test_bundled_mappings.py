"""The bundled mappings, each on five rows with the columns of the real data set."""

import json
from pathlib import Path

import pytest

from harness.errors import HarnessError, UsageError
from harness.tasks.hf import DatasetTask
from harness.tasks.mapping import BUNDLED, bundled
from harness.tasks.sandbox import Sandbox, probe

ROWS = Path(__file__).parent / "rows"
# mapping: problems of its five rows, right completions of some of them (by the order of the problems), wrong ones
ANSWERS = {
    "gsm8k": (5, ["24-3=21 #### 21", "#### 1300", "\\boxed{15}", "It is -5", "#### 7/2"], ["#### 12", "", "#### x"]),
    "hendrycks-math": (
        4,
        ["\\boxed{0.75}", "\\boxed{(x-2)^2}", "\\boxed{\\sqrt{50}}", "so \\boxed{2^5}"],
        ["\\boxed{3}"],
    ),
    "math-500": (
        5,
        ["\\boxed{56}", "\\boxed{1.5}", "\\boxed{(x+1)(x-1)}", "\\boxed{(2,\\pi/2)}", "\\boxed{180}"],
        ["\\boxed{57}", "\\boxed{2}"],
    ),
    "dapo-math-17k": (
        4,
        ["2*3\nAnswer: 6", "Answer: $55$", "\\boxed{97}", "Answer: 2\n"],
        ["Answer: 5\n", "6 Answer:"],
    ),
    "mbpp": (
        4,
        [
            "def double(n): return n + n",
            "```python\ndef common(a, b):\n    return [x for x in a if x in b]\n```",
            "def area(r): return 3.1415927 * r ** 2",
            "def letters(s): return {c: s.count(c) for c in s}",
        ],
        ["def double(n): return 6", "", "def f(", "def area(r): return 0"],
    ),
    "mbpp-sanitized": (
        5,
        [
            "def double(n): return n + n",
            "def hypotenuse(a, b): return (a * a + b * b) ** 0.5",
            "def is_empty(s): return len(s) == 0",
            "def ordered(t): return tuple(sorted(t))",
            "joined = ' '.join",
        ],
        ["def double(n): return 6", "def hypotenuse(a, b): return 5", "def is_empty(s): return 0"],
    ),
    "apps": (
        4,
        [
            "n = int(input())\nprint(sum(int(x) for x in input().split()))",
            "def pair(a, b):\n    return (min(a, b), max(a, b))",
            "def main():\n    print(f'{int(input()) / 2:.3f}')\nif __name__ == '__main__':\n    main()",
            "import sys\nprint('\\n'.join(line.strip()[::-1] for line in sys.stdin))\nsys.exit()",
        ],
        ["print(6)", "def pair(a, b): return (a, b)", "print(1.5)", "import sys\nsys.stdout = None"],
    ),
    "humaneval": (
        5,
        [
            "    return n + n\n\ndef other(): pass",
            "```python\ndef root(xs):\n    assert poly(xs, 0) == xs[0]\n    return -xs[0] / xs[1]\n```",
            "    return n * (1 / 3)\n",
            "```python\ndef evens(xs: List[int]):\n    return [x for x in xs if not x % 2]\n```",
            "    return s in ('yes', 'Yes')\n",
        ],
        [
            "    return 4\n",
            "    return 0.0\n",
            "    return 1.0\n",
            "    class All(list):\n        __eq__ = lambda a, b: True\n    return All()\n",
            "    return 1\n",
        ],
    ),
}


def task(name, split="test", **settings):
    return DatasetTask(like=name, files={split: str(ROWS / f"{name}.jsonl")}, verify_seconds=30, **settings)


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(probe().mode) as box:
        yield box


def test_every_bundled_mapping_has_rows_and_answers():
    assert set(bundled()) == set(ANSWERS) == {file.stem for file in ROWS.glob("*.jsonl")}


@pytest.mark.parametrize("name", ANSWERS)
def test_right_completions_are_right_and_wrong_ones_wrong(name, sandbox):
    some = task(name)
    count, right, wrong = ANSWERS[name]
    problems = some.problems("test")
    assert len(problems) == count
    assert not any("{question}" in p.prompt or "{test_list" in p.prompt for p in problems)
    for texts, verdict in ((right, 1), (wrong, 0)):
        columns = some.score_texts(problems[: len(texts)], texts, [False] * len(texts), sandbox=sandbox)
        assert set(columns) == set(some.columns) == set(some.reward_weights)
        assert columns["correct"].tolist() == [verdict] * len(texts)
        cut = some.score_texts(problems[: len(texts)], texts, [True] * len(texts), sandbox=sandbox)
        ends = [some.ended(text, True)[1] for text in texts]
        assert not any(value for value, still in zip(cut["correct"], ends, strict=True) if still)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_renamed_column_is_one_line_that_says_what_to_set(name, tmp_path):
    rows = [json.loads(line) for line in (ROWS / f"{name}.jsonl").read_text().splitlines()]
    mapping = task(name).settings
    key = "question" if name != "dapo-math-17k" else "answer"
    column = getattr(mapping, key).split(".")[0]
    for row in rows:
        row["renamed"] = row.pop(column)
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UsageError) as raised:
        DatasetTask(like=name, files={"test": str(file)}).problems("test")
    said = str(raised.value)
    assert "\n" not in said
    assert f"{key} names column '{getattr(mapping, key)}'" in said
    assert f"columns: {', '.join(rows[0])}" in said
    assert f"set {key} to one of them" in said


def test_what_was_left_out_is_counted():
    math = task("hendrycks-math")
    assert len(math.problems("test")) == 4
    assert math.notes() == ["hendrycks-math: of 5 rows 1 have no answer that can be checked"]
    dapo = task("dapo-math-17k")
    assert len(dapo.problems("test")) == 4
    assert (dapo.counts.duplicates, dapo.counts.unreadable) == (1, 0)
    mbpp = task("mbpp")
    assert len(mbpp.problems("test")) == 4  # a known solution that fails its own tests is no problem
    assert mbpp.counts.unreadable == 1
    assert task("gsm8k").notes() == []


def test_levels_and_subjects():
    some = task("hendrycks-math", keep={"level": ["Level 2", "Level 3"], "type": ["Algebra"]})
    assert [{name: p.data[name] for name in ("level", "type")} for p in some.problems("test")] == [
        {"level": "Level 2", "type": "Algebra"},
        {"level": "Level 3", "type": "Algebra"},
    ]
    assert some.counts.left_out == 3
    with pytest.raises(UsageError, match=r"keep names column 'levle'.*'level'"):
        task("hendrycks-math", keep={"levle": [1]}).problems("test")


def test_partial_credit_is_the_share_of_the_tests_that_are_not_shown(sandbox):
    some = task("mbpp")
    problem = some.problems("test")[0]
    assert "assert double(3) == 6" in problem.prompt
    assert "double(0)" not in problem.prompt
    texts = ["def double(n): return 6", "def double(n): return 0", "def double(n): return abs(2 * n)"]
    columns = some.score_texts([problem] * 3, texts, [False] * 3, sandbox=sandbox)
    assert columns["pass_fraction"].tolist() == [0, 0.5, 0.5]
    assert not columns["correct"].any()


def test_a_stop_text_ends_a_program_and_is_not_truncation():
    some = task("humaneval")
    assert some.ended("    return 1\nprint(1)", True) == ("    return 1", False)
    assert some.ended("    return 1", True) == ("    return 1", True)
    assert some.ended("```python\nimport a\ndef f(): pass", True) == ("```python\nimport a\ndef f(): pass", True)


def test_own_settings_stand_above_the_bundled_ones(tmp_path):
    assert task("gsm8k", max_tokens=9).max_tokens == 9
    (tmp_path / "rows.jsonl").write_text((ROWS / "gsm8k.jsonl").read_text())
    (tmp_path / "mine.yaml").write_text("like: gsm8k\nname: mine\nfiles: {test: rows.jsonl}\n")
    assert DatasetTask(tmp_path / "mine.yaml").problems("test")[0].key.startswith("mine:")
    with pytest.raises(UsageError, match="no bundled mapping 'gsm9k'; there are apps, "):
        DatasetTask(like="gsm9k")
    with pytest.raises(UsageError, match=r"unknown setting 'lik'.*'like'"):
        DatasetTask(name="a", lik="gsm8k")


def test_a_package_that_is_missing_is_one_line():
    some = DatasetTask(like="humaneval", package="not_there", files={"test": "a.jsonl.gz"}, name="far")
    with pytest.raises(HarnessError, match=r"'not_there', which is not installed.*pip install not-there"):
        some.problems("test")


def test_bundled_files_name_hub_data_or_a_package():
    for name in bundled():
        settings = DatasetTask(like=name).settings
        assert settings.path or settings.package
        assert (BUNDLED / f"{name}.yaml").read_text().startswith("# ")
