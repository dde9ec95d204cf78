"""`harness cite`: entries that BibTeX reads, nothing invented."""

import re
from pathlib import Path

import pytest

from harness import __version__, yaml12
from harness.cli.cite import bibtex, place
from harness.host import discover
from tests.cli.test_methods import file, harness

__all__ = ["file"]

ROOT = Path(__file__).parents[2]


def entries(text):
    """Key -> fields of every entry; braces must balance within each."""
    found = {}
    for key, body in re.findall(r"^@misc\{([^,\s]+),\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL):
        assert body.count("{") == body.count("}")
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", body, re.MULTILINE))
        assert len(fields) == body.count("\n")
        assert key not in found
        found[key] = fields
    return found


def test_a_stack_is_cited_with_its_base_and_the_harness(capsys):
    code, out, _ = harness(capsys, "cite", "dapo+f-grpo(gamma=2)")
    assert code == 0
    found = entries(out)
    assert [fields.get("eprint") for fields in found.values()] == ["2402.03300", "2503.14476", "2602.06717", None]
    dapo = found["dapo:2503.14476"]
    assert dapo == {
        "key": "dapo", "title": "{DAPO: An Open-Source LLM Reinforcement Learning System at Scale}",
        "author": "Qiying Yu and others", "year": "2025", "eprint": "2503.14476", "archivePrefix": "arXiv",
        "url": "https://arxiv.org/abs/2503.14476", "note": "Method dapo of policy-harness",
    }  # fmt: skip
    assert "author" not in found["f-grpo:2602.06717"]  # nobody has looked them up
    assert "% no author is recorded for f-grpo:2602.06717: take it from the url" in out


def test_the_harness_is_cited_as_its_own_file_says(capsys):
    told = yaml12.load(ROOT / "CITATION.cff")[0]
    mine = entries(harness(capsys, "cite", "grpo")[1])["policy-harness"]
    assert mine["title"] == f"{{{told['title']}}}"
    assert mine["author"] == f"{{{told['authors'][0]['name']}}}"
    assert mine["note"] == f"Software, version {__version__}"
    assert told["version"] == __version__


def test_several_stacks_name_a_paper_once(capsys):
    out = harness(capsys, "cite", "dapo", "grpo+token-mean", "dapo+overlong-penalty")[1]
    found = entries(out)
    assert sum(fields.get("eprint") == "2503.14476" for fields in found.values()) == 1
    note = next(fields["note"] for fields in found.values() if fields.get("eprint") == "2503.14476")
    assert note == "Methods dapo, overlong-penalty, token-mean of policy-harness"


def test_plugins_without_a_paper_are_named_not_made_up(capsys, file):
    out = harness(capsys, "cite", "my-idea+placebo", "--plugin", file)[1]
    assert re.search(r"^% no paper is recorded for .*placebo", out, re.MULTILINE)


def test_unknown_stacks_are_one_line(capsys):
    code, _, err = harness(capsys, "cite", "dappo")
    assert code == 2
    assert "Did you mean 'dapo'" in err


def test_all_unknown_names_are_named_at_once(capsys):
    code, out, err = harness(capsys, "cite", "dappo+placebo", "grpo", "gddpo(x=1)")
    assert (code, out) == (2, "")
    assert "'dappo' (did you mean 'dapo'?), 'gddpo' (did you mean 'gdpo'?)" in err
    assert err.count("\n") == 1


def test_a_file_of_methods_may_know_its_papers(capsys, tmp_path):
    source = '"""Mine."""\nfrom harness import method, hookimpl\n\n@method(paper="10.1234/abc")\nclass Mine:\n'
    source += (
        '    """Idea."""\n\n    @hookimpl\n    def estimate_advantages(self, batch):\n        return batch.reward\n'
    )
    (tmp_path / "mine.py").write_text(source)
    papers = tmp_path / "papers.yaml"
    papers.write_text('"10.1234/abc": {title: "On & on", authors: A. Nyone and S. Omeone}\n')
    fields = entries(harness(capsys, "cite", "mine", "--plugin", tmp_path / "mine.py")[1])["mine:mine"]
    assert fields["title"] == r"{On \& on}"
    assert fields["author"] == "A. Nyone and S. Omeone"
    papers.write_text('"10.1234/abc": On and on\n')
    code, _, err = harness(capsys, "cite", "mine", "--plugin", tmp_path / "mine.py")
    assert code == 2
    assert "papers.yaml: 10.1234/abc is not read; write" in err


def test_the_first_partys_papers_are_its_methods_and_nothing_else():
    """Every paper in the file is stated by a method; what a method states and the file lacks was never looked up."""
    told = yaml12.load(ROOT / "plugins" / "harness_papers" / "papers.yaml")[0]
    ours = [entry for entry in discover().values() if entry.module.startswith("harness_papers")]
    stated = {place(str(entry.paper)).get("eprint", str(entry.paper)) for entry in ours if entry.paper}
    assert set(told) <= stated
    assert list(told) == sorted(told)
    for paper, fields in told.items():
        assert set(fields) <= {"title", "authors"}, paper
        assert len(fields["title"]) > 10
        assert "arxiv" not in fields["title"].lower(), paper
        names = fields.get("authors", "A B").split(" and ")
        assert all(" " in name.strip() or name == "others" or name.startswith("{") for name in names), paper
    assert len(stated - set(told)) < 6


@pytest.mark.parametrize(
    ("paper", "fields"),
    [
        ("1707.06347", {"year": "2017", "eprint": "1707.06347", "archivePrefix": "arXiv",
                        "url": "https://arxiv.org/abs/1707.06347"}),
        ("arXiv:2503.14476v2", {"year": "2025", "eprint": "2503.14476", "archivePrefix": "arXiv",
                                "url": "https://arxiv.org/abs/2503.14476"}),
        ("10.1007/BF00992696", {"doi": "10.1007/BF00992696", "url": "https://doi.org/10.1007/BF00992696"}),
        ("github.com/some/one", {"url": "https://github.com/some/one"}),
    ],
)  # fmt: skip
def test_where_papers_are(paper, fields):
    assert place(paper) == fields


def test_an_entry_leaves_empty_fields_out():
    assert bibtex("a", {"title": "{x}", "author": ""}) == "@misc{a,\n  title = {{x}},\n}"
