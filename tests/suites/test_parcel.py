import io
import tarfile

import pytest

from harness.suites.parcel import newest_checkpoint, pack, unpack


def trial(directory, steps, **files):
    for step in steps:
        checkpoint = directory / "checkpoints" / f"step-{step:06d}"
        checkpoint.mkdir(parents=True)
        (checkpoint / "state.json").write_text(str(step))
    for name, text in files.items():
        (directory / name).write_text(text)
    return directory


def test_a_parcel_holds_small_files_and_the_newest_checkpoint(tmp_path):
    directory = trial(tmp_path / "a", [3, 12], metrics="one\ntwo\n", result="{}")
    (directory / ".lock").touch()
    there = trial(tmp_path / "b", [3, 7], metrics="old", other="kept")
    unpack(pack(directory), there)
    assert sorted(path.name for path in there.iterdir()) == ["checkpoints", "metrics", "other", "result"]
    assert [path.name for path in (there / "checkpoints").iterdir()] == ["step-000012"]
    assert (there / "checkpoints" / "step-000012" / "state.json").read_text() == "12"
    assert (there / "metrics").read_text() == "one\ntwo\n"
    assert (there / "other").read_text() == "kept"
    assert newest_checkpoint(there) == "step-000012"


def test_without_a_checkpoint_what_is_there_stays(tmp_path):
    there = trial(tmp_path / "b", [3])
    (tmp_path / "a").mkdir()
    unpack(pack(trial(tmp_path / "a", [], status="x")), there)
    assert newest_checkpoint(there) == "step-000003"


def test_nothing_is_a_parcel_too(tmp_path):
    unpack(pack(tmp_path / "nowhere"), tmp_path / "b")
    assert list((tmp_path / "b").iterdir()) == []
    assert newest_checkpoint(tmp_path / "b") == ""


def test_a_parcel_writes_nowhere_else(tmp_path):
    evil = io.BytesIO()
    with tarfile.open(fileobj=evil, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("../outside"), io.BytesIO())
    with pytest.raises(tarfile.FilterError):
        unpack(evil.getvalue(), tmp_path / "b")
    assert not (tmp_path / "outside").exists()
