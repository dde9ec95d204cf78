import pytest

from harness.tasks.sandbox import Sandbox, probe
from tests.tasks.sandboxed import LIMIT


@pytest.fixture(scope="module")
def namespaces():
    if probe().mode != "namespaces":
        pytest.skip("this machine refuses namespaces")
    with Sandbox("namespaces", seconds=LIMIT) as box:
        yield box


@pytest.fixture(scope="module")
def limits():
    with Sandbox("limits", seconds=LIMIT) as box:
        yield box


@pytest.fixture(params=["namespaces", "limits"])
def box(request):
    return request.getfixturevalue(request.param)
