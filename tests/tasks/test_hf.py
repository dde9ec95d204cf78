"""Data sets as tasks."""

import json
import weakref

import pytest

from harness.errors import HarnessError, UsageError
from harness.tasks.hf import DatasetTask
from harness.tasks.load import load_task

ROWS = [{"question": f"What is {i}+1?", "answer": f"Add. #### {i + 1}", "level": i % 3} for i in range(200)]
GSM = {"answer_pattern": "#### (.*)", "prompt": "{question}\nEnd with ####."}


def write(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


@pytest.fixture
def files(tmp_path):
    return {"train": write(tmp_path / "train.jsonl", ROWS[:150]), "test": write(tmp_path / "test.jsonl", ROWS[140:])}


def task(files, /, **settings):
    return DatasetTask(**{"name": "sums", "files": files, **GSM, **settings})


def score(some, problem, *texts, truncated=False):
    columns = some.score_texts([problem] * len(texts), texts, [truncated] * len(texts))
    return {name: values.tolist() for name, values in columns.items()}


def test_problems_are_the_rows(files):
    some = task(files)
    first = some.problems("test", 1)[0]
    assert first.prompt == "What is 140+1?\nEnd with ####."
    assert (first.answer, first.task) == ("141", "sums")
    assert len({p.key for p in some.problems("train")}) == len(some.problems("train"))


def test_splits_do_not_overlap_and_lose_nothing(files):
    some = task(files)
    prompts = {split: {p.prompt for p in some.problems(split)} for split in ("train", "validation", "test")}
    assert len(prompts["test"]) == 60  # what train shares with test is tested only
    assert len(prompts["train"]) + len(prompts["validation"]) == 140
    assert 5 < len(prompts["validation"]) < 30
    assert not prompts["train"] & prompts["test"]
    assert not prompts["train"] & prompts["validation"]


def test_a_test_split_is_cut_out_of_train_where_there_is_none(files):
    some = task({"train": files["train"]})
    sizes = [len(some.problems(split)) for split in ("train", "validation", "test")]
    assert sum(sizes) == 150
    assert min(sizes) > 4


def test_the_answer_is_the_marked_or_the_last_number(files):
    some = task(files)
    problem = some.problems("test")[0]
    found = score(
        some, problem, "140+1=141", "#### 141", "#### 141 apples", "141 or 7", "", "\\boxed{141}", "#### 1 141"
    )
    assert found["correct"] == [1, 1, 1, 0, 0, 1, 0]
    assert found["format"] == [0, 1, 1, 0, 0, 1, 1]
    assert score(some, problem, "#### 141", truncated=True) == {"correct": [0], "format": [0]}


def test_exact_and_math(tmp_path):
    rows = [{"question": "Expand", "answer": "x^2+2x+1"}, {"question": "Bad", "answer": "no idea"}]
    files = {"test": write(tmp_path / "a.jsonl", rows)}
    exact = DatasetTask(name="a", files=files, verify="exact")
    assert score(exact, exact.problems("test")[0], "x^2+2x+1 ", "(x+1)^2", "#### x^2+2x+1")["correct"] == [1, 0, 1]
    math = DatasetTask(name="a", files=files, verify="math", verify_seconds=20)
    assert len(math.problems("test")) == 1
    assert math.counts.unreadable == 1
    texts = ["\\boxed{(x+1)^2}", "So:\n(x+1)^2", "\\boxed{x}", ""]
    assert score(math, math.problems("test")[0], *texts)["correct"] == [1, 1, 0, 0]


def test_rows_without_a_readable_answer_are_counted(tmp_path):
    rows = [
        {"question": "a", "answer": "#### 6"},
        {"question": "b", "answer": "six"},
        {"question": "c", "answer": "#### six"},
    ]
    some = task({"test": write(tmp_path / "a.jsonl", rows)})
    assert [p.answer for p in some.problems("test")] == ["6"]
    assert some.counts.unreadable == 2
    with pytest.raises(HarnessError, match="none of its 2 rows"):
        task({"test": write(tmp_path / "b.jsonl", rows[1:])}).problems("test")


def test_templates_and_formats(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    row = {"context": "Given 3.", "q": "Double it?", "n": 6}
    (tmp_path / "a.json").write_text(json.dumps([row]))
    (tmp_path / "a.csv").write_text('context,q,n\n"Given 3.",Double it?,6\n')
    pyarrow.parquet.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")
    for suffix in ("json", "csv", "parquet"):
        some = DatasetTask(
            name="t", files={"test": str(tmp_path / f"a.{suffix}")}, question="{context} {q}", answer="n"
        )
        problem = some.problems("test")[0]
        assert (problem.prompt, problem.answer) == ("Given 3. Double it?", "6")


def test_a_yaml_file_names_files_beside_it(tmp_path, files):
    (tmp_path / "sums.yaml").write_text(
        "name: sums\nfiles: {test: test.jsonl, train: train.jsonl}\nanswer_pattern: '#### (.*)'\nmax_tokens: 9\n"
    )
    some = load_task(str(tmp_path / "sums.yaml"), {"reward_weights": {"format": 0.5}})
    assert (some.name, some.max_tokens, some.reward_weights) == ("sums", 9, {"correct": 1.0, "format": 0.5})
    assert len(some.problems("test")) == 60
    again = load_task("dataset", {"file": str(tmp_path / "sums.yaml"), "reward_weights": {"format": 0.5}})
    assert some.digest() == again.digest()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"answr": "a"}, r"unknown setting 'answr'.*'answer'"),
        ({"verify": "sympy"}, "verify"),
        ({"files": {}}, "either path"),
        ({"path": "a/b"}, "either path"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"name": None}, "name"),
        ({"name": "../sums"}, "name: '../sums' must be letters"),
        ({"name": ""}, "name: ''"),
        ({"answer_pattern": "("}, r"answer_pattern: '\(' is no regular expression"),
    ],
)
def test_wrong_settings_are_one_line(files, settings, message):
    with pytest.raises(UsageError, match=message) as raised:
        task(files, **settings)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"question": "questions"}, "question names column 'questions'.*columns: question, answer.*'question'"),
        ({"answer": "anwser"}, "answer names column 'anwser'.*set answer to one of them.*'answer'"),
        ({"prompt": "{questoin}"}, "prompt names column 'questoin'.*'question'"),
        ({"prompt": "{question[0]:d}"}, "cannot fill in prompt"),
        ({"answer": "answer.value"}, "answer names column 'answer.value'"),
        ({"splits": {"test": "tst"}}, "no file for split 'tst'.*'test'"),
        ({"splits": {"validation": "test"}}, "neither train nor test"),
    ],
)
def test_wrong_mappings_are_one_line(files, settings, message):
    with pytest.raises(UsageError, match=message):
        task(files, **settings).problems("test")


def test_the_digest_knows_how_answers_are_compared(files):
    first = task(files).digest()
    assert task(files).digest() == first
    assert task(files, verify="exact").digest() != first
    assert task(files, verify_seconds=1.0).digest() != first


def test_wrong_files_are_one_line(tmp_path, files):
    with pytest.raises(UsageError, match=r"no task file.*suns.yaml"):
        load_task(str(tmp_path / "suns.yaml"))
    with pytest.raises(UsageError, match=r"no file.*trian.jsonl.*'train.jsonl'"):
        task({"train": str(tmp_path / "trian.jsonl")}).problems("train")
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(UsageError, match=r"allowed: .jsonl"):
        task({"train": str(tmp_path / "a.txt")}).problems("train")
    (tmp_path / "b.jsonl").write_text("[1]\n")
    with pytest.raises(UsageError, match="named fields"):
        task({"train": str(tmp_path / "b.jsonl")}).problems("train")
    (tmp_path / "c.jsonl").write_text("{\n")
    with pytest.raises(UsageError, match="cannot be read"):
        task({"train": str(tmp_path / "c.jsonl")}).problems("train")


@pytest.mark.filterwarnings("ignore")
def test_data_out_of_reach_is_one_line(monkeypatch):
    import datasets.config

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    some = DatasetTask(name="far", path="nobody/nothing", splits={"test": "test"})
    with pytest.raises(HarnessError, match=r"'nobody/nothing' cannot be read.*HF_HOME"):
        some.problems("test")


def hub_folder(folder):
    """A data set as the hub lays it out: two configurations, each with its splits."""
    import pyarrow as pa
    import pyarrow.parquet

    card = "---\nconfigs:\n"
    for name, first in (("easy", 0), ("hard", 100)):
        (folder / name).mkdir(parents=True)
        card += f"- config_name: {name}\n  data_files:\n"
        for split, start in (("train", first), ("test", first + 50)):
            rows = [{"question": f"What is {i}+1?", "answer": f"#### {i + 1}"} for i in range(start, start + 5)]
            pyarrow.parquet.write_table(pa.Table.from_pylist(rows), folder / name / f"{split}.parquet")
            card += f"  - split: {split}\n    path: {name}/{split}.parquet\n"
    (folder / "README.md").write_text(card + "---\n")
    return str(folder)


@pytest.mark.filterwarnings("ignore")
def test_configurations_splits_and_revisions_of_the_hub(tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    settings = {
        **GSM,
        "name": "far",
        "path": hub_folder(tmp_path / "set"),
        "splits": {"train": "train", "test": "test"},
    }
    hard = DatasetTask(**settings, subset="hard")
    assert [p.answer for p in hard.problems("test")] == [str(i + 1) for i in range(150, 155)]
    both = DatasetTask(**settings, subset=["easy", "hard"])
    assert [p.answer for p in both.problems("test")][::5] == ["51", "151"]
    with pytest.raises(HarnessError, match=r"cannot be read.*medium"):
        DatasetTask(**settings, subset="medium").problems("test")
    asked = []
    monkeypatch.setattr(
        datasets, "load_dataset", lambda *a, **k: asked.append((a, k)) or [{"question": "1", "answer": "1"}]
    )
    DatasetTask(name="r", path="a/b", subset="c", revision="d", splits={"test": "e"}).problems("test")
    assert asked == [(("a/b", "c"), {"split": "e", "revision": "d"})]


def test_chat_messages_nested_columns_and_marks(tmp_path):
    rows = [
        {
            "prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}],
            "gold": {"value": 4},
        }
    ]
    some = DatasetTask(
        name="chat", files={"test": write(tmp_path / "a.jsonl", rows)}, question="prompt", answer="gold.value",
        answer_mark="Answer:", verify="exact",
    )  # fmt: skip
    problem = some.problems("test")[0]
    assert (problem.prompt, problem.answer) == ("Be brief.\n\n2+2?", "4")
    columns = score(
        some, problem, "Answer: 4", "Answer: 5\nAnswer: 4\nDone", "Answer:", "Answer: 5", "\\boxed{4} Answer: 5"
    )
    assert columns == {"correct": [1, 1, 0, 0, 1], "format": [1, 1, 0, 1, 1]}


def test_rows_that_are_repeated_are_read_one_by_one_and_held_once(monkeypatch):
    """As in DAPO-Math-17k, whose rows come a hundred times."""
    alive = []

    class Rows(dict):
        def __init__(self, n):
            super().__init__(question=f"What is {n % 3} and {n % 3}?", answer=str(2 * (n % 3)))
            alive.append(weakref.ref(self))

    def hub(*_):
        for n in range(300):
            assert sum(ref() is not None for ref in alive) <= 2
            yield Rows(n)

    monkeypatch.setattr("harness.tasks.hf.hub_rows", hub)
    task = DatasetTask(
        name="again", path="a/b", splits={"test": "test"}, question="question", answer="answer", verify="number"
    )
    assert [p.answer for p in task.problems("test")] == ["0", "2", "4"]
    assert (task.counts.rows, task.counts.duplicates, task.counts.unreadable) == (300, 297, 0)
