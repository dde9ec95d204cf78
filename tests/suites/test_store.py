import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.errors import UsageError
from harness.files import write_json
from harness.suites.store import BusyError, RunDirectory, locked


def begin(store, suite):
    """Pretend that a trial has begun."""
    directory = store.path / "dr-grpo" / "seed-0"
    directory.mkdir(parents=True)
    write_json(directory / "config.json", {})


def test_the_suite_is_kept_beside_its_runs(tmp_path, suite):
    store = RunDirectory.of("small", tmp_path)
    assert store.suite() is None
    store.record(suite(), ["grpo(beta=0)", "dr-grpo"])
    assert store.suite() == suite(methods=["grpo(beta=0)", "dr-grpo"])


def test_methods_and_seeds_add_up_over_calls(tmp_path, suite):
    store = RunDirectory.of("small", tmp_path)
    store.record(suite(seeds=2), ["a", "b"])
    begin(store, suite)
    store.record(suite(seeds="0,5"), ["b", "c"])
    found = store.suite()
    assert found.methods == ("a", "b", "c")
    assert found.seeds == (0, 1, 5)


def test_other_settings_are_refused_in_one_line(tmp_path, suite):
    store = RunDirectory.of("small", tmp_path)
    store.record(suite(), ["a"])
    begin(store, suite)
    store.record(suite(limits__seconds=5, question="Why?"), ["a"])  # these change no number
    with pytest.raises(
        UsageError, match=r"optimizer\.lr is 0\.0001 there and 0\.3 now.*--out.*harness clean small --out .*`$"
    ):
        store.record(suite(optimizer__lr=0.3), ["a"])


def test_commands_that_messages_name_find_the_directory_again(tmp_path):
    assert RunDirectory.of("small").out_option == ""
    assert RunDirectory.of("small", tmp_path).out_option == f" --out {tmp_path}"


def test_other_settings_are_fine_before_any_trial(tmp_path, suite):
    store = RunDirectory.of("small", tmp_path)
    store.record(suite(), ["a"])
    store.record(suite(optimizer__lr=0.3), ["a"])
    assert store.suite().optimizer.lr == 0.3


def hold(directory, seconds):
    with locked(directory):
        time.sleep(seconds)


def test_a_directory_is_held_by_one_process(tmp_path):
    process = multiprocessing.get_context("spawn").Process(target=hold, args=(tmp_path, 1.0))
    process.start()
    while not (tmp_path / ".lock").exists():
        time.sleep(0.01)
    time.sleep(0.1)
    with pytest.raises(BusyError, match="in use by another"), locked(tmp_path, patience=0):
        pass
    with locked(tmp_path):  # waits for it
        pass
    process.join()


def test_methods_of_runs_that_begin_together_are_all_recorded(tmp_path, suite):
    store, stacks = RunDirectory(tmp_path / "small"), ["dapo", "gspo", "rloo", "remax", "gdpo", "cispo"]
    chosen = suite()  # it writes a file, always the same one
    with ThreadPoolExecutor(len(stacks)) as pool:
        list(pool.map(lambda stack: store.record(chosen, [stack]), stacks))
    assert sorted(store.suite().methods) == sorted(stacks)


def test_other_settings_take_the_place_of_those_that_nothing_ran_under(tmp_path, suite):
    store = RunDirectory(tmp_path / "small")
    store.record(suite(), ["dapo"])
    assert store.record(suite(budget={"compute": 20_000}), ["gspo"]).methods == ("gspo",)
    store.suite_file.write_text("name: [")
    assert store.record(suite(), ["rloo"]).methods == ("rloo",)
    begin(store, suite)
    assert store.record(suite(), ["dapo"]).methods == ("rloo", "dapo")
    with pytest.raises(UsageError, match="holds runs of other settings: budget"):
        store.record(suite(budget={"compute": 20_000}), ["gspo"])
