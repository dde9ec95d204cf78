"""The code task with the real sandbox."""

import pytest

from harness.tasks.code import CodeTask
from harness.tasks.sandbox import Sandbox, probe


@pytest.fixture(scope="module")
def sandbox():
    mode = probe().mode
    if mode is None:
        pytest.skip("this machine allows no sandbox")
    with Sandbox(mode) as box:
        yield box


@pytest.fixture(scope="module")
def problems():
    return CodeTask().problems("test")[:90]


def test_reference_texts_pass(sandbox, problems):
    texts = [p.data["function"].text for p in problems]
    columns = CodeTask().score_texts(problems, texts, [False] * len(texts), sandbox=sandbox)
    assert columns["all_passed"].all()
    assert columns["format"].all()


def test_wrapped_texts_pass_without_the_format(sandbox, problems):
    for wrapping in ("f(x)=", "return ", "lambda x:", "def f(x):return "):
        texts = [wrapping + p.data["function"].text for p in problems]
        columns = CodeTask().score_texts(problems, texts, [False] * len(texts), sandbox=sandbox)
        assert columns["all_passed"].all()
        assert not columns["format"].any()


@pytest.mark.parametrize("form", ["{%s}[x]", "dict([%s])[x]", "{%s}.get(x)"])
def test_a_look_up_of_the_shown_examples_scores_nothing(sandbox, problems, form):
    shown = [p.prompt[:-1] for p in problems]
    if form.startswith("dict"):
        shown = [",".join(f"({pair.replace(':', ',')})" for pair in pairs.split(",")) for pairs in shown]
    texts = [form % pairs for pairs in shown]
    columns = CodeTask().score_texts(problems, texts, [False] * len(texts), sandbox=sandbox)
    for name in ("all_passed", "pass_fraction", "runs"):
        assert not columns[name].any(), name


def test_faults_of_a_program_stay_its_own(sandbox, problems):
    texts = [
        "1/0",
        "x//(x-x)",
        "undefined",
        "[x]",
        "__import__('os').getpid()",
        problems[5].data["function"].text,
    ]
    columns = CodeTask().score_texts(problems[:6], texts, [False] * 6, sandbox=sandbox)
    assert columns["all_passed"].tolist() == [0, 0, 0, 0, 0, 1]
    assert columns["pass_fraction"].tolist()[:5] == [0] * 5
