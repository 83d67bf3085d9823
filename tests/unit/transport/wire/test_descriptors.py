import resource

import pytest

from loadgen.errors import UsageError
from loadgen.transport.wire.descriptors import raise_descriptor_limit


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Stands for the process's limits, 256 soft and 4,096 hard; what is set is appended."""
    seen = [(256, 4096)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: seen[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: seen.append(pair))
    return seen


def test_soft_limit_is_raised_for_the_asked_concurrency(limits: list[tuple[int, int]]) -> None:
    assert raise_descriptor_limit(512) >= 512
    assert limits[-1][0] >= 512
    assert limits[-1][1] == 4096


def test_limit_that_suffices_is_left_alone(limits: list[tuple[int, int]]) -> None:
    raise_descriptor_limit(10)
    assert limits == [(256, 4096)]


def test_hard_limit_in_the_way_is_said_before_the_run_with_the_number(
    limits: list[tuple[int, int]],
) -> None:
    with pytest.raises(UsageError, match="10000 connections need 10064"):
        raise_descriptor_limit(10_000)
    assert limits == [(256, 4096)]
