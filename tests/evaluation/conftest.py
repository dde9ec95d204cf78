import pytest

from harness.policies.policy import Policy
from harness.policies.random import tiny_policy
from harness.tasks.sandbox import Sandbox, probe


@pytest.fixture(scope="package")
def tiny():
    return tiny_policy(seed=1)


@pytest.fixture(scope="package")
def embedded() -> Policy:
    return Policy.load("embedded")


@pytest.fixture(scope="package")
def sandbox():
    with Sandbox(probe().mode) as box:
        yield box
