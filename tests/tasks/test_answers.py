"""Numbers in texts, exactly."""

from fractions import Fraction

import pytest

from harness.tasks.answers import find_answer, marked_answer, number, numbers, written_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("+4", 4),
        (" 1,234 ", 1234),
        ("$5", 5),
        ("-$5", -5),
        ("0.50", Fraction(1, 2)),
        ("3/4", Fraction(3, 4)),
        ("12.", 12),
        (".5", Fraction(1, 2)),
        ("1,234,567.25", Fraction("1234567.25")),
        ("007", 7),
        ("twelve", None),
        ("", None),
        ("12 13", None),
        ("12%", None),
        ("1/0", None),
        ("9" * 50, None),
        ("1,23", None),
        ("x3", None),
        ("٣", None),
    ],
)
def test_number(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("7-3=4", [7, 3, 4]),
        ("x=-3.", [-3]),
        ("12eggs and a1b2", []),
        ("from 1,000 to 2,500!", [1000, 2500]),
        ("(5), [6]; 7:8", [5, 6, 7, 8]),
        ("3.14.15", [Fraction("3.14")]),
        ("costs $3.50 each", [Fraction("3.5")]),
    ],
)
def test_numbers(text, values):
    assert numbers(text) == values


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("so #### 12", "12"),
        ("#### 1\n#### 2 apples\nmore", "2 apples"),
        ("####", None),
        ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("\\boxed{1} then \\boxed {2}", "2"),
        ("\\boxed{never closed", None),
        ("plain 12", None),
        ("\\boxed{1} #### 3", "3"),
    ],
)
def test_marked_answer(text, answer):
    assert marked_answer(text) == answer


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3 and 4", 4),
        ("#### 3 of 4", 3),
        ("#### none, 4", 4),
        ("#### none", None),
        ("nothing", None),
        ("", None),
        ("\\boxed{5} 6", 5),
    ],
)
def test_find_answer(text, value):
    assert find_answer(text) == value


@pytest.mark.parametrize(
    ("marked", "value"),
    [
        ("18", 18),
        ("$1,234.50", Fraction("1234.5")),
        ("20km", 20),
        ("18 apples, not 20", 18),
        ("3 + 15 = 18", 18),
        ("x = 18", 18),
        ("**18**", 18),
        ("\\$18", 18),
        ("1{,}234", 1234),
        ("1,\\!234", 1234),
        ("1\\,234", 1234),
        ("\\frac{1}{2}", Fraction(1, 2)),
        ("\\dfrac{3}{4} cup", Fraction(3, 4)),
        ("\N{MINUS SIGN}5", -5),
        ("10 \N{EN DASH} 5", 10),
        ("2^3", None),
        ("10^{3}", None),
        ("1e3", None),
        ("a1b2", None),
        ("none", None),
    ],
)
def test_a_number_as_models_write_it(marked, value):
    assert written_number("7", marked) == value


def test_without_a_mark_the_last_number_counts():
    assert written_number("3 and 20km", None) == 20
    assert written_number("18 left on the 2nd day", None) == 18
    assert written_number("none", None) is None
