import pytest

from harness.errors import UsageError
from harness.resources import bundled_suites, data_path, suite_path


def test_bundled_suites_are_found_by_name():
    assert {"quickstart", "tiny", "smollm2"} <= set(bundled_suites())
    assert suite_path("tiny").name == "tiny.yaml"


def test_a_path_is_taken_as_one(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine")
    assert suite_path(str(file)) == file
    assert suite_path("mine.yaml", relative_to=tmp_path) == file


def test_unknown_suite_names_the_nearest():
    with pytest.raises(UsageError, match="Did you mean 'quickstart'"):
        suite_path("quickstar")


def test_unknown_file_names_the_nearest(tmp_path):
    (tmp_path / "mine.yaml").write_text("name: mine")
    with pytest.raises(UsageError, match=r"Did you mean .*mine\.yaml"):
        suite_path(tmp_path / "mien.yaml")


def test_unknown_data():
    with pytest.raises(UsageError, match="missing from this installation"):
        data_path("no-such-thing")
