"""Files are replaced whole, and read whatever state they are in."""

from __future__ import annotations

import pytest

from harness.files import read_json, write_json


@pytest.mark.parametrize("durable", [False, True])
def test_json_files_are_replaced_whole(tmp_path, durable):
    file = tmp_path / "a.json"
    write_json(file, {"x": 1}, durable=durable)
    write_json(file, {"x": 2}, durable=durable)
    with pytest.raises(TypeError):
        write_json(file, {"x": object()}, durable=durable)
    assert read_json(file) == {"x": 2}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("content", ['{"x":', "[1]", ""])
def test_what_is_no_object_reads_as_nothing(tmp_path, content):
    (tmp_path / "a.json").write_text(content)
    assert read_json(tmp_path / "a.json") == {}
    assert read_json(tmp_path / "none.json") == {}
