import pytest

from harness.errors import UsageError
from harness.files import write_json
from harness.suites.expand import trials
from harness.suites.stale import changes, refuse_stale
from harness.suites.status import status_of
from harness.suites.store import RunDirectory


class Now:
    """What a trial would record now."""

    semantics = 1
    digests = {"task": "t", "policy": "p"}  # noqa: RUF012

    def spec(self, stack):
        return {"plugins": [{"label": "grpo", "digest": "g"}, {"label": stack, "digest": "d"}]}


def record(**changed):
    now = Now()
    spec = {"plugins": [{"label": "grpo", "digest": "g"}, {"label": "dr-grpo", "digest": changed.pop("digest", "d")}]}
    return {"trial_key": "k", "semantics": now.semantics, "digests": now.digests, "spec": spec, **changed}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, []),
        ({"digest": "older"}, ["another version of dr-grpo"]),
        ({"semantics": 0}, ["another version of the training loop"]),
        ({"digests": {"task": "x", "policy": "y"}}, ["other task data", "other initial weights"]),
    ],
)
def test_what_changed_is_said_in_words(changed, words):
    assert changes(record(**changed), Now(), "dr-grpo") == words


def test_a_trial_with_a_result_is_refused_and_a_failed_one_begins_anew(tmp_path, suite):
    store = RunDirectory(tmp_path / "runs")
    config = next(trial for trial in trials(suite(), str) if trial.method == "dr-grpo")
    directory = store.trial(config)
    directory.mkdir(parents=True)
    write_json(directory / "config.json", record(digest="older"))
    for result in ({"status": "done"}, {"status": "interrupted"}):
        write_json(directory / "result.json", result)
        with pytest.raises(
            UsageError, match=r"another version of dr-grpo; start anew with `harness clean small --out o "
        ):
            refuse_stale([status_of(config, store)], Now(), " --out o")
    write_json(directory / "result.json", {"status": "failed"})
    refuse_stale([status_of(config, store)], Now())
    assert not directory.exists()
    refuse_stale([status_of(config, store)], Now())
