"""What is wrong with a suite's tasks is said before anything runs."""

import json

import pytest

from harness.errors import HarnessError, UsageError
from harness.policies.random import tiny_policy
from harness.suites.preflight import check_suite
from harness.suites.schema import Suite
from harness.tasks import load
from harness.tasks.math import MathTask


class Leaky(MathTask):
    def problems(self, split, limit=None):
        return super().problems("train" if split == "test" else split, limit or 5)


def suite(**settings):
    return Suite.model_validate({"name": "s", "budget": {"rollouts": 10}, **settings})


def test_rows_that_were_left_out_are_told(tmp_path):
    assert check_suite(suite()) == []
    rows = [{"question": f"{i}+1=", "answer": i + 1 if i else "one"} for i in range(30)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = {"name": "sums", "files": {"train": str(tmp_path / "rows.jsonl")}}
    notes = check_suite(suite(tasks=[{"task": "dataset", "options": options}]))
    assert notes == ["sums: of 30 rows 1 have no answer that can be checked"]


def test_a_task_without_a_row_to_train_on_says_what_became_of_them(tmp_path):
    for split, answer in (("train", "one"), ("test", 1)):
        rows = [{"question": f"{i}+{split}=", "answer": answer} for i in range(5)]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    files = {split: str(tmp_path / f"{split}.jsonl") for split in ("train", "test")}
    with pytest.raises(UsageError, match=r"'sums' has no training problems \(sums: of 10 rows 5 have no answer"):
        check_suite(suite(tasks=[{"task": "dataset", "options": {"name": "sums", "files": files}}]))


def test_damaged_weights_are_told_before_anything_runs(tmp_path):
    model = tmp_path / "model"
    tiny_policy().save(model)
    chosen = suite(policy={"model": str(model)})
    assert check_suite(chosen) == []
    file = model / "model.safetensors"
    whole = file.read_bytes()
    for content, fault in (
        (whole[:-1], f"cut short: {len(whole) - 1} bytes of {len(whole)}"), (whole[:20], "damaged"), (b"", "damaged"),
    ):  # fmt: skip
        file.write_bytes(content)
        with pytest.raises(HarnessError, match=fault):
            check_suite(chosen)


def test_splits_that_share_problems_are_refused(monkeypatch):
    check_suite(suite())
    real = load.load_task
    monkeypatch.setattr(load, "load_task", lambda name, options=None: Leaky() if name == "leaky" else real(name))
    with pytest.raises(UsageError, match=r"task 'math' has problems in two splits \(train/test 5\)") as raised:
        check_suite(suite(tasks=[{"task": "leaky"}]))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "other"),
    [({"policy": {"lora": {"rank": 4}}}, "policy.lora"), ({"sampler": {"engine": "vllm"}}, "sampler.engine: builtin")],
)
def test_what_does_not_go_with_divided_weights_is_said_before_anything_runs(settings, other):
    with pytest.raises(UsageError, match=f"resources.sharded .*{other}"):
        check_suite(suite(resources={"ranks": 2, "sharded": True}, **settings))
    check_suite(suite(resources={"sharded": True}, **settings))  # one process divides nothing


def test_what_one_task_trains_on_no_other_tests(tmp_path):
    rows = [json.dumps({"question": f"{i}+1=", "answer": i + 1}) for i in range(100)]

    def share(name, **files):
        for split, some in files.items():
            (tmp_path / f"{name}-{split}.jsonl").write_text("\n".join(some))
        named = {split: str(tmp_path / f"{name}-{split}.jsonl") for split in files}
        return {"task": "dataset", "options": {"name": name, "files": named}}

    one = share("one", train=rows[:50], test=rows[50:60])
    check_suite(suite(tasks=[one, share("two", train=rows[:50], test=rows[50:70])]))
    with pytest.raises(UsageError, match=r"the tasks together have problems in two splits \(train/test 30\)"):
        check_suite(suite(tasks=[one, share("two", train=rows[55:100], test=rows[:30])]))


def test_a_task_without_problems_to_be_evaluated_on_is_refused(tmp_path):
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"question": f"{i}+1=", "answer": i + 1}) for i in range(3)))
    options = {"name": "a", "files": {"train": str(tmp_path / "a.jsonl")}}
    with pytest.raises(UsageError, match="evaluation: the task 'a' has no test problems"):
        check_suite(suite(tasks=[{"task": "dataset", "options": options}]))


def test_other_tasks_of_the_evaluation_are_looked_up(monkeypatch):
    check_suite(suite(evaluation={"tasks": ["word-problems", "humaneval"]}))
    asked = []
    monkeypatch.setattr("harness.evaluation.others.check_names", lambda names, known: asked.append(names))
    monkeypatch.setattr("harness.evaluation.external.documents", lambda *_, **__: [])
    check_suite(suite(evaluation={"tasks": ["word-problems", "gsm8k"], "shots": 5}))
    assert asked == [["gsm8k"]]
    with pytest.raises(UsageError, match="no task file"):
        check_suite(suite(evaluation={"tasks": ["nowhere.yaml"]}))


@pytest.mark.parametrize("name", ["multi-reward", "small-groups", "off-policy", "noisy-reward", "length", "tiny"])
def test_bundled_suites_of_the_embedded_policy_pass(name: str) -> None:
    check_suite(Suite.load(name))


def test_a_weight_of_a_token_column_is_known() -> None:
    suite = Suite.load("tiny", ["reward_weights.steps=0.5", "tasks=[{task: math}]"])
    check_suite(suite)
    with pytest.raises(UsageError, match=r"no task of the suite has a column 'stes'\. Did you mean 'steps'"):
        check_suite(Suite.load("tiny", ["reward_weights={stes: 0.5}"]))


def test_weights_that_are_all_zero_are_told() -> None:
    plain, added = (suite(tasks=[{"task": "math"}], reward_weights=weights) for weights in (
        {"correct": 0, "format": 0, "brevity": 0, "steps": 0}, {"correct": 0, "format": 0, "brevity": 0, "steps": 0.1}
    ))  # fmt: skip
    assert any("every column of the tasks weighs 0" in note for note in check_suite(plain))
    assert not any("weighs 0" in note for note in check_suite(added))


def sums(tmp_path, *, train="1+1=", test="2+2=", some=30):
    for split, long in (("train", train), ("test", test)):
        rows = [{"question": f"{i}+{split}", "answer": i} for i in range(some)] + [{"question": long, "answer": 2}]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    files = {split: str(tmp_path / f"{split}.jsonl") for split in ("train", "test")}
    return [{"task": "dataset", "options": {"name": "sums", "files": files}}]


def test_prompts_that_leave_no_room_for_their_completion_are_refused(tmp_path) -> None:
    """The embedded policy has 512 tokens, one a character, and <bos>."""
    check_suite(suite(tasks=sums(tmp_path, train="1" * 471)))
    with pytest.raises(UsageError) as raised:
        check_suite(suite(tasks=sums(tmp_path, train="1" * 472)))
    assert str(raised.value) == (
        "suite s: task 'sums': its longest train prompt has 473 tokens, with sampling.max_tokens=40 that is 513, "
        "and the context of embedded is 512 (1 of its train prompts do not fit); "
        "set sampling.max_tokens to 39 at most, or take a model of a longer one"
    )
    with pytest.raises(UsageError, match=r"longest train prompt has 601 tokens.*; leave long rows out, or"):
        check_suite(suite(tasks=sums(tmp_path, train="1" * 600)))


def test_room_for_evaluation_is_its_own(tmp_path) -> None:
    tasks = sums(tmp_path, test="1" * 400)
    check_suite(suite(tasks=tasks, evaluation={"max_tokens": 111}))
    with pytest.raises(UsageError, match=r"test prompt has 401 tokens, with evaluation.max_tokens=112 that is 51"):
        check_suite(suite(tasks=tasks, evaluation={"max_tokens": 112}))
    check_suite(suite(tasks=tasks, evaluation={"max_tokens": 112, "problems": 30}))  # the long one is not asked


def test_an_engine_started_for_less_says_so(tmp_path) -> None:
    sampler = {"engine": "vllm", "vllm": {"context": 100}}
    check_suite(suite(tasks=sums(tmp_path), sampler=sampler))
    with pytest.raises(UsageError, match=r"sampler.vllm.context is 100 .*set sampling.max_tokens to 49 at most"):
        check_suite(suite(tasks=sums(tmp_path, train="1" * 50), sampling={"max_tokens": 60}, sampler=sampler))
