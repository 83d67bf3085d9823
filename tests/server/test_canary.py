"""The canary heard over real sockets: from the ticker itself, by the watch and by httpx."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from loadgen.measure.surroundings import TICKER
from loadgen.transport.wire.canary import Canary
from loadgen.transport.wire.watch import Watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernel stamps")


@pytest.fixture
def ticker() -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    process = subprocess.Popen(TICKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    word, port = process.stdout.readline().split()
    assert word == b"READY"
    with process:
        yield int(port), process
        process.kill()


async def heard(canary: Canary, least: int) -> None:
    async with asyncio.timeout(20):
        while len(canary.errors_ns) < least:  # noqa: ASYNC110  # it tells nobody
            await asyncio.sleep(0.02)


async def test_ticks_are_stamped_by_the_kernel_and_read_later_than_stamped(
    ticker: tuple[int, "subprocess.Popen[bytes]"],
) -> None:
    watch, canary = Watch(asyncio.get_running_loop()), Canary()
    await canary.listen(ticker[0], watch)
    await heard(canary, 10)
    await canary.aclose()
    watch.close()
    assert canary.stamp == "kernel"
    assert len(canary.waits_ns) == len(canary.errors_ns)
    assert sorted(canary.errors_ns)[4] <= sorted(canary.waits_ns)[4]
    assert all(wait_ns > 0 for wait_ns in canary.waits_ns)


async def test_beside_httpx_ticks_carry_user_stamps(
    ticker: tuple[int, "subprocess.Popen[bytes]"],
) -> None:
    canary = Canary()
    await canary.listen(ticker[0], None)
    await heard(canary, 5)
    await canary.aclose()
    assert canary.stamp == "user"
    assert list(canary.errors_ns) == list(canary.waits_ns)


async def test_a_loop_that_was_blocked_shows_in_the_waits(
    ticker: tuple[int, "subprocess.Popen[bytes]"],
) -> None:
    watch, canary = Watch(asyncio.get_running_loop()), Canary()
    await canary.listen(ticker[0], watch)
    await heard(canary, 3)
    canary.forget()
    signal.sigtimedwait(set(), 0.3)  # the whole loop stands still
    await heard(canary, 4)
    await canary.aclose()
    watch.close()
    assert max(canary.waits_ns) > 100_000_000


async def test_a_ticker_that_is_not_there_is_no_error() -> None:
    watch, canary = Watch(asyncio.get_running_loop()), Canary()
    await canary.listen(1, watch)
    await canary.aclose()
    watch.close()
    assert not canary.errors_ns


def test_the_ticker_ends_with_its_standard_input(
    ticker: tuple[int, "subprocess.Popen[bytes]"],
) -> None:
    process = ticker[1]
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=20) == 0
