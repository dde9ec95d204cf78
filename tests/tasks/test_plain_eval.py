"""What scorers may evaluate of an answer: values and formulas, and nothing that runs code."""

import pytest

from harness.tasks.gym import ReasoningGymTask
from harness.tasks.plain_eval import Refused, vet_formula, vet_values


@pytest.mark.parametrize("source", ["[[1, 2], (3,)]", "0x1f + -2*3", " {'a': [1.5, None]}", "not 1 == 2"])
def test_values_and_arithmetic_pass(source):
    assert vet_values(source) == source


@pytest.mark.parametrize(
    "source",
    [
        "x",
        "print(1)",
        "[].append",
        "[i for i in [1]]",
        "lambda: 1",
        "f'{1}'",
        "",
        "1;2",
        "(a := 1)",
        "[" * 300,
        "'" * 20_001,
    ],
)
def test_names_and_calls_are_no_values(source):
    with pytest.raises(Refused):
        vet_values(source)


@pytest.mark.parametrize(
    "source",
    [
        "Integer (2 )*Symbol ('x' )**Integer (3 )+sin (Symbol ('x' ))", "sqrt (Integer (2 ))+pi", "C +x",
        "max (Integer (1 ),Integer (2 ))", "factorial (Integer (5 ))",
    ],
)  # fmt: skip
def test_formulas_as_sympy_writes_them_pass(source):
    assert vet_formula(source) == source


@pytest.mark.parametrize(
    "source",
    [
        "__import__ ('os' )", "Symbol ('x' ).__class__", "open (Symbol ('x' ))", "S ('__import__(1)' )",
        "sympify ('x' )", "eval (chr (Integer (95 )))", "Symbol (eval ('1' ))", "getattr (x ,'a' )",
        "lambda :Integer (1 )", "lambdify (x ,x )", "(Symbol ('x' )for y in x )", "preview (x )", "'a' +'b'", "print",
        "Symbol ('x' )[Integer (0 )]", "parse_expr ('x' )", "Function ('f' )(Symbol ('x' ))",
    ],
)  # fmt: skip
def test_code_is_no_formula(source):
    with pytest.raises(Refused):
        vet_formula(source)


@pytest.mark.parametrize("name", ["spiral_matrix", "countdown"])
def test_no_answer_runs_code_or_writes_its_own_score(name, tmp_path):
    pytest.importorskip("reasoning_gym", reason="comes with the reasoning-gym extra")
    task = ReasoningGymTask(name, size=60, score_seconds=60)
    problem, file = task.problems("train")[0], tmp_path / "file"
    file.touch()
    os = "__import__('os')"
    answers = [f"{os}.remove({str(file)!r})", f"[{os}.remove({str(file)!r})]", f"[{os}.write(3,b'1.0\\n') and exit()]"]
    columns = task.score_texts([problem] * 4, [*answers, problem.answer], [False] * 4)
    assert columns["correct"].tolist() == [0, 0, 0, 1]
    assert file.exists()
    assert task.timeouts == 0
