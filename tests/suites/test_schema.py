import pickle

import pytest

from harness import yaml12
from harness.errors import UsageError
from harness.resources import data_path
from harness.suites.expand import trials
from harness.suites.schema import RULES, Suite, parse_amount, parse_bytes, parse_seeds
from harness.training.config import TrialConfig

BASE = """\
name: base
budget: {compute: 1e5}
optimizer: {lr: 1e-4, betas: [0.9, 0.99]}
methods:
  - dr-grpo
  - dapo+f-grpo(gamma=2)
"""


def test_a_suite_holds_every_setting_of_a_trial():
    assert set(TrialConfig.model_fields) - {"suite", "method", "seed", "tuned"} <= set(Suite.model_fields)


def test_resolved_yaml_loads_to_the_same_suite(write):
    suite = Suite.load(write("base.yaml", BASE))
    assert Suite.load(write("again.yaml", suite.to_yaml())) == suite
    assert suite.optimizer.lr == 1e-4
    assert suite.seeds == (0, 1, 2, 3, 4)
    assert "  - dapo+f-grpo(gamma=2)\n" in suite.to_yaml()


def test_yaml_11_booleans_stay_text(write):
    assert Suite.load(write("base.yaml", BASE + "question: no\n")).question == "no"


def test_extends_merges_mappings_and_replaces_lists_and_budget(write):
    write("base.yaml", BASE)
    child = write(
        "child.yaml", "extends: base.yaml\nname: child\noptimizer: {lr: 3e-5}\nbudget: {tokens: 10}\nmethods: [rloo]\n"
    )
    suite = Suite.load(child)
    assert suite.optimizer.lr == 3e-5
    assert suite.optimizer.betas == (0.9, 0.99)
    assert suite.budget.currency == "tokens"
    assert suite.methods == ("rloo",)


def test_extends_a_bundled_suite_by_name(write):
    suite = Suite.load(write("mine.yaml", "extends: tiny\nname: mine\nseeds: 2\n"))
    assert suite.sampling == Suite.load("tiny").sampling
    assert suite.seeds == (0, 1)


def test_extending_oneself_is_an_error(write):
    write("a.yaml", "extends: b.yaml\nname: a\n")
    with pytest.raises(UsageError, match="extends itself"):
        Suite.load(write("b.yaml", "extends: a.yaml\nname: b\n"))


def test_faults_name_the_file_that_holds_them(write):
    write("base.yaml", BASE.replace("lr: 1e-4", "lrr: 1e-4"))
    child = write("child.yaml", "extends: base.yaml\nname: child\n")
    with pytest.raises(
        UsageError, match=r"base\.yaml:3: unknown key 'optimizer\.lrr'\. Did you mean 'optimizer\.lr'\?"
    ):
        Suite.load(child)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("optimzer.lr=1", r"--set optimzer\.lr: unknown key 'optimzer'\. Did you mean 'optimizer'"),
        ("lag=3", r"unknown key 'lag'\. Did you mean 'sampler\.lag'"),
        ("sampling.lag=3", r"Did you mean 'sampler\.lag'"),
        ("bananas=3", r"unknown key 'bananas'\. Known: baseline, budget"),
        ("policy.dtype=fp16", r"'fp16' is not float32, bfloat16 or float64"),
        ("optimizer.lr=-1", r"^--set optimizer\.lr: must be more than 0, not -1$"),
        ("optimizer.lr=fast", r"^--set optimizer\.lr: must be a number, not 'fast'$"),
        ("optimizer.betas=3", r"^--set optimizer\.betas: must be a list, not 3$"),
        ("optimizer.betas=[1, 2, 3]", r"^--set optimizer\.betas: must have at most 2 items, not 3$"),
        ("optimizer.betas=[1, x]", r"^--set optimizer\.betas: optimizer\.betas\.1 must be a number, not 'x'$"),
        ("learner.minibatches=1.5", r"^--set learner\.minibatches: must be a whole number, not 1\.5$"),
        ("learner.minibatches=0", "must be at least 1, not 0"),
        ("evaluation.every=2", "must be at most 1, not 2"),
        ("policy.chat=maybe", "must be true or false, not 'maybe'"),
        ("policy=3", "must be a section of settings, not 3"),
        ("budget=60k", r"^--set budget: must be a section of settings, not '60k' \(such as budget\.compute\)$"),
        ("methods=[3]", r"methods\.0 must be a text, not 3"),
        ("tasks=[]", "must have at least 1, not 0"),
        ("name=A b", r"must be a text that matches \^\[a-z0-9\]"),
        ("budget.compute=0", r"^--set budget\.compute: must be more than 0, not 0$"),
        ("seeds=0", "at least one seed"),
        ("seeds=[1, 1]", "a seed comes twice"),
        ("seeds=x", "are no seeds"),
        ("limits.memory=4Gx", r"^--set limits\.memory: '4Gx' is no size"),
        ("resources.memory=lots", r"^--set resources\.memory: 'lots' is no size"),
        ("limits.memory.of=3", r"^--set limits\.memory\.of: "),
        ("budget.hours=3", r"^--set budget\.hours: "),
        ("methods=[{dapo: {x: 1}}]", r"as dapo\(x=1\)"),
        ("tasks.0.shar=2", r"tasks\.0\.shar.*Did you mean 'tasks\.share'"),
        ("tasks.3.share=2", r"tasks\.3 must end in a number below 1"),
        ("name.x=1", "name is a text, it has no keys"),
        ("optimizer.lr", "write it as key=value"),
        ("rules=2", "compares by rules 1, not 2"),
        ("budget={compute: 1, tokens: 2}", "exactly one of"),
        ("budget.compute=.inf", r"budget\.compute: must be a finite number, not inf"),
        ("reward_weights.correct=.nan", r"reward_weights\.correct: must be a finite number, not nan"),
        ("tasks=[{task: math, kinds: [x]}]", r"^--set tasks: unknown key 'tasks\.0\.kinds'"),
    ],
)
def test_faults_are_one_line_with_the_nearest_name(write, change, message):
    file = write("base.yaml", BASE + "tasks: [{task: math}]\n")
    with pytest.raises(UsageError, match=message) as caught:
        Suite.load(file, [change])
    assert "\n" not in str(caught.value)
    assert "valid" not in str(caught.value)  # pydantic's words
    assert caught.value.exit_code == 2


def test_all_faults_are_told_each_with_its_place(write):
    file = write("base.yaml", BASE.replace("lr:", "lrr:") + "seeds: x\nlag: 3\nsampling: {prompts: 0}\n")
    with pytest.raises(UsageError) as caught:
        Suite.load(file, ["policy.dtype=fp16"])
    lines = caught.value.lines
    assert len(lines) == 5
    for place, what in (
        ("base.yaml:3: ", "unknown key 'optimizer.lrr'. Did you mean 'optimizer.lr'?"),
        ("base.yaml:7: ", "seeds: 'x' are no seeds"),
        ("base.yaml:8: ", "unknown key 'lag'. Did you mean 'sampler.lag'?"),
        ("base.yaml:9: ", "sampling.prompts must be at least 1, not 0"),
        ("--set policy.dtype: ", "'fp16' is not float32"),
    ):
        assert [line for line in lines if place in line and what in line], (place, lines)
    assert str(caught.value) == "; ".join(lines)
    assert pickle.loads(pickle.dumps(caught.value)).lines == lines


def test_of_very_many_faults_the_rest_is_counted(write):
    file = write("base.yaml", BASE + "".join(f"nonsense{i}: 1\n" for i in range(11)))
    with pytest.raises(UsageError) as caught:
        Suite.load(file)
    assert len(caught.value.lines) == 9
    assert caught.value.lines[-1] == "and 3 more"


def test_set_reads_values_as_yaml_and_reaches_list_items(write):
    file = write("base.yaml", BASE + "tasks: [{task: math}, {task: code}]\n")
    suite = Suite.load(file, ["tasks.1.share=2", "evaluation.problems=10", "budget.tokens=5", "methods=[rloo, ppo]"])
    assert suite.tasks[1].share == 2
    assert suite.evaluation.problems == 10
    assert (suite.budget.currency, suite.budget.limit) == ("tokens", 5)
    assert suite.methods == ("rloo", "ppo")


def test_a_missing_key_and_a_file_that_is_no_mapping(write):
    with pytest.raises(UsageError, match="budget is missing"):
        Suite.load(write("a.yaml", "name: a\n"))
    with pytest.raises(UsageError, match="this is a list"):
        Suite.load(write("b.yaml", "- a\n"))
    with pytest.raises(UsageError, match="this is empty"):
        Suite.load(write("c.yaml", ""))


def test_trial_settings_travel_between_processes(suite):
    config = trials(suite(), str)[0]
    again = pickle.loads(pickle.dumps(config))
    assert again == config
    assert again.budget.currency == "updates"


def test_amounts_sizes_and_seeds():
    assert [parse_amount(text) for text in ("200k", "1.5M", "1_000", "2e3")] == [200e3, 1.5e6, 1000, 2000]
    assert [parse_bytes(text) for text in ("4GiB", "800MB", "10")] == [4 * 2**30, 800 * 10**6, 10]
    assert [parse_seeds(text) for text in (3, "3", "0,4-6")] == [(0, 1, 2), (0, 1, 2), (0, 4, 5, 6)]
    for parse, text in ((parse_amount, "-1"), (parse_bytes, "4 apples"), (parse_seeds, "1-"), (parse_seeds, "3,3")):
        with pytest.raises(ValueError):
            parse(text)


def test_the_rules_page_is_of_the_version_that_suites_name():
    assert data_path("rules.md").read_text().startswith(f"# The rules of comparison, version {RULES}\n")


def test_dump_keeps_text_that_looks_like_numbers():
    assert yaml12.parse(yaml12.dump({"a": ["1e-4", "no", "null"]}), "x")[0] == {"a": ["1e-4", "no", "null"]}
