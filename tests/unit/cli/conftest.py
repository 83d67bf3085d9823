"""No test of the command line reads this machine's own settings."""

import os

import pytest

from tests.unit.cli.fakes import FakeRun


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("LOADGEN_", "OPENAI_")) or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)


@pytest.fixture
def fake_run(monkeypatch: pytest.MonkeyPatch) -> FakeRun:
    fake = FakeRun()
    fake.install(monkeypatch)
    return fake
