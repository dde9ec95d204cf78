"""The LaTeX table: whole, escaped, one cell a column."""

from __future__ import annotations

import re

import pytest

from harness.leaderboard import board
from harness.leaderboard.columns import columns, select
from harness.leaderboard.latex import as_latex, escaped, note
from tests.leaderboard.fixtures import write_demo, write_suite, write_trial


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return board(write_demo(tmp_path_factory.mktemp("runs") / "tiny"))


def checked(text, width):
    """Braces and environments close in order, every line of the table has `width` cells, nothing special is bare."""
    assert text.isascii()
    body = re.sub(r"(?<!\\)%.*", "", text)
    assert re.sub(r"\\[{}]", "", body).count("{") == re.sub(r"\\[{}]", "", body).count("}")
    depth = 0
    for brace in re.findall(r"[{}]", re.sub(r"\\[{}]", "", body)):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    open_ones = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", body):
        if kind == "begin":
            open_ones.append(name)
        else:
            assert open_ones.pop() == name
    assert not open_ones
    spec = re.search(r"\\begin\{tabular\}\{([lr]+)\}", body)[1]
    assert len(spec) == width
    table = body.split(r"\toprule")[1].split(r"\bottomrule")[0].replace(r"\midrule", "")
    lines = [line for line in table.strip().splitlines() if line]
    for line in lines:
        assert line.endswith(r" \\")
        assert len(re.findall(r"(?<!\\)&", line)) == width - 1
        assert not re.search(r"(?<!\\)[#_~^<>|\"]", re.sub(r"\$[<>]\$", "", line))
    assert body.count("$") - body.count(r"\$") == 2 * len(re.findall(r"\$[^$\n]*\$", body.replace(r"\$", "")))
    return lines


def test_the_table_is_whole(made):
    lines = checked(as_latex(made), 9)
    assert len(lines) == 1 + len(made.rows)
    assert lines[0].startswith("method & n & score & difference & p & letters & to target & waste & failures")
    assert any("+6.5 [+3.6, +9.3]" in line for line in lines)
    assert any(r"$-$14.2 [$-$17.9, $-$10.5]" in line for line in lines)


def test_all_columns(made):
    checked(as_latex(made, columns(made)), len(columns(made)))
    checked(as_latex(made, select(made, "score,rank,eval error")), 4)


def test_names_are_escaped(tmp_path):
    write_trial(tmp_path, "x(text='<a_b> 50% & #1 ~^|', n={2: 3}, c='\\\\')", 0, [0.1, 0.2])
    write_suite(tmp_path, [], 1, baseline=None, question="")
    text = as_latex(board(tmp_path))
    checked(text, len(re.search(r"\{tabular\}\{([lr]+)\}", text)[1]))
    assert r"\_" in text
    assert r"50\% \& \#1" in text


def test_commands_in_notes_are_set_as_typed():
    assert r"(\texttt{harness power} tells 5\% of it)" in note("(`harness power` tells 5% of it)")


def test_escapes():
    assert escaped("\\{}") == r"\textbackslash{}\{\}"
    assert escaped("a_b 5% <.001") == r"a\_b 5\% $<$.001"
    assert escaped("\N{MINUS SIGN}1\N{EN DASH}4 \N{PLUS-MINUS SIGN}2") == r"$-$1--4 $\pm$2"
