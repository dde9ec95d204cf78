"""The host API version, and plugins that were written for another one."""

import pytest

from harness import PluginError, method
from harness.host import build_stack, discover
from harness.host.api import HOST_API, mismatch
from tests.host.sources import ALONE, CHILD, importable

NEWER = HOST_API + 1


@pytest.mark.parametrize(
    "wanted", [None, f">={HOST_API}", f">={HOST_API},<{NEWER}", f" == {HOST_API} ", f"!={NEWER}", f"<={HOST_API}", ">0"]
)
def test_ranges_that_fit(wanted):
    assert mismatch(wanted) is None


def test_ranges_that_do_not_fit_name_both_versions_and_the_way_out():
    newer, older = mismatch(f">={NEWER}"), mismatch(f"<{HOST_API}")
    assert f"host API >={NEWER}, and this harness offers {HOST_API}; upgrade policy-harness" in newer
    assert f"host API <{HOST_API}, and this harness offers {HOST_API}; install a version of the plugin" in older
    for wrong in ("1", "~=1", ">=1;<2", ""):
        assert "is no range such as" in mismatch(wrong)


def test_the_decorator_refuses_before_anything_else_is_looked_at():
    broken = type("Ahead", (), {"keep": lambda self, batch: None})  # undecorated, a fault of its own
    with pytest.raises(PluginError, match=rf"Ahead was written for host API >={NEWER}"):
        method(host_api=f">={NEWER}")(broken)


@pytest.mark.parametrize("by", ["decorator", "module", "annotated"])
def test_an_installed_method_for_another_host_is_listed_and_refused_without_importing_it(install, by):
    if by != "decorator":
        constant = "HOST_API" if by == "module" else "HOST_API: str"
        source = f'{constant} = ">={NEWER},<{NEWER + 1}"\nraise RuntimeError("imported")\n' + ALONE
    else:
        source = ALONE.replace("@method(", f'@method(host_api=">={NEWER},<{NEWER + 1}", ')
        source += 'raise RuntimeError("imported")\n'
    importable(install("zoo-new", "4.0", {"parent": source}, {"zoo-new": "parent:Parent"}))
    catalogue = discover()
    entry = catalogue["zoo-new"]
    assert entry.host_api == f">={NEWER},<{NEWER + 1}"
    assert catalogue.status(entry) == "failed"
    with pytest.raises(
        PluginError, match=rf"'zoo-new' of zoo-new 4.0 was written for host API >={NEWER}.* offers {HOST_API}"
    ):
        build_stack("zoo-new", catalogue)


def test_a_subclass_takes_over_what_its_parent_was_written_for(install):
    parent = ALONE.replace("@method(", f'@method(host_api="<{NEWER}", ')
    importable(install("zoo-fam", "1", {"parent": parent, "child": CHILD}, {"zoo-child": "child:Child"}))
    assert discover()["zoo-child"].host_api == f"<{NEWER}"
    assert discover()["zoo-child"].load().info.host_api == f"<{NEWER}"
