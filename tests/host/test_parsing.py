import pytest

from harness import UsageError
from harness.host import PluginSpec, parse_stack, split_methods
from harness.host.parsing import spell_value


def test_a_stack_is_names_parameters_and_distributions():
    assert parse_stack("dapo+f-grpo(gamma=2)") == (PluginSpec("dapo"), PluginSpec("f-grpo", {"gamma": 2}))
    assert parse_stack(" gtpo@their-dist ( a = 1 ) ") == (PluginSpec("gtpo", {"a": 1}, "their-dist"),)


def test_values_are_python_literals():
    (spec,) = parse_stack("x(a=1e-4, b=-2, c='p+q,(', d=(1, 2), e=None, f=True, g=[1], h={'k': 1}, i='it\\'s')")
    assert spec.params == {
        "a": 1e-4, "b": -2, "c": "p+q,(", "d": (1, 2), "e": None, "f": True, "g": [1], "h": {"k": 1}, "i": "it's",
    }  # fmt: skip


def test_spelling_sorts_and_reads_back():
    text = "b(alpha=2, zeta=(1,))+a@d(x='p+q')"
    assert "+".join(map(str, parse_stack("b(zeta=(1.0,), alpha=2.0)+a@d(x='p+q')"))) == text
    assert parse_stack(text)[0].params == {"alpha": 2, "zeta": (1,)}


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.0, "2"), (0.04, "0.04"), (1e-5, "1e-05"), (-3.0, "-3"), (1e20, "1e+20"), (True, "True"), ([1.0], "[1]"),
     ({"a": 1.0}, "{'a': 1}"), ((), "()"), (float("inf"), "1e999"), (-float("inf"), "-1e999"), (None, "None")],
)  # fmt: skip
def test_whole_floats_are_spelled_as_integers(value, text):
    assert spell_value(value) == text


def test_spaces_and_line_breaks_say_nothing():
    spread = " dapo ( clip_high = 0.3 ,\n overlong=0 )\n + f-grpo( gamma = 2 ) "
    assert parse_stack(spread) == parse_stack("dapo(clip_high=0.3, overlong=0)+f-grpo(gamma=2)")


def test_names_are_in_lower_case():
    assert parse_stack("DAPO+F-GRPO") == parse_stack("dapo+f-grpo")


@pytest.mark.parametrize("value", ["a'b", 'say "x"', "back\\", "\\'", "(", "a,b+c", "two\nlines", ""])
def test_any_string_survives_spelling_splitting_and_reading(value):
    text = str(PluginSpec("x", {"kind": value, "next": (1, "a,b)")}))
    assert split_methods(f"{text}, y+{text}") == [text, f"y+{text}"]
    assert parse_stack(f"{text}+y") == (PluginSpec("x", {"kind": value, "next": (1, "a,b)")}), PluginSpec("y"))


def test_commas_and_plus_signs_inside_brackets_or_quotes_do_not_split():
    assert split_methods("grpo(beta=0), dapo+f-grpo(a=(1, 2), b='x,y+z') ,") == [
        "grpo(beta=0)",
        "dapo+f-grpo(a=(1, 2), b='x,y+z')",
    ]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "cannot read ''"),
        ("dapo+", "cannot read '' in the stack 'dapo\\+'"),
        ("dapo f-grpo", "cannot read 'dapo f-grpo'"),
        ("dapo(", "unbalanced"),
        ("dapo(a=1))", "cannot read|unbalanced"),
        ("dapo('x)", "unbalanced"),
        ("dapo(0.2)", "each is written name=value"),
        ("dapo(**{})", "each is written name=value"),
        ("dapo(a=1, a=2)", "repeated"),
        ("dapo(kind=k3)", "a string needs quotes: kind='k3'"),
        ("dapo(on=true)", "is not a Python literal; write on=True"),
        ("dapo(top=inf)", "write top=1e999"),
        ("dapo(a=1)(b=2)", "each is written name=value"),
        ("dapo(a=1).b(c=2)", "each is written name=value"),
        ("dapo(a=1", "unbalanced"),
        ("dapo(a='x)", "unbalanced"),
        ("dapo(a={[1]: 2})", "is not a Python literal"),
        ("dapo(a=1+1)", "is not a Python literal"),
        ("dapo(a=__import__('os'))", "is not a Python literal"),
    ],
)
def test_what_cannot_be_read_says_where(text, match):
    with pytest.raises(UsageError, match=match):
        parse_stack(text)
