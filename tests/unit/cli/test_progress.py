"""The progress line: what it says, how often, and what it must never write."""

import io
import os

import pytest

from loadgen.cli.progress import Progress, format_status
from tests.unit.cli.fakes import status_at

S = 1_000_000_000


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.at_ns = 0

    def __call__(self) -> int:
        return self.at_ns


def test_line_reads_as_on_the_screens_page() -> None:
    assert format_status(status_at()) == (
        "point 3/6 c=4 · window 22/60 s · 4 in flight · 527 tok/s · TTFT p50 69 ms · 0 errors"
        " · client ok · ETA 3:50"
    )


def test_line_leaves_out_what_is_not_known_yet() -> None:
    status = status_at(
        load="poisson:rate=4/s",
        planned_s=None,
        out_tps=None,
        ttft_p50_s=None,
        eta_s=None,
        failed=1,
        client_ok=False,
    )
    assert format_status(status) == (
        "point 3/6 poisson:rate=4/s · window 22 s · 4 in flight · 1 error · client late"
    )


def test_narrow_line_leaves_out_whole_facts_the_least_needed_first() -> None:
    line = format_status(status_at(), 85)
    assert (
        line == "point 3/6 c=4 · window 22/60 s · 527 tok/s · TTFT p50 69 ms · 0 errors · ETA 3:50"
    )
    assert "client late" in format_status(status_at(client_ok=False), 85)


def test_elsewhere_than_on_a_terminal_a_plain_line_comes_every_ten_seconds() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress(stream, now_ns=clock) as progress:
        for second in range(25):
            clock.at_ns = second * S
            progress(status_at())
    assert stream.getvalue().count("\n") == 3
    assert "\r" not in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_new_point_is_shown_at_once() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress(stream, now_ns=clock) as progress:
        progress(status_at(1))
        progress(status_at(2))
    assert stream.getvalue().count("\n") == 2


def test_terminal_line_is_rewritten_and_wiped_without_escape_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream, clock = Terminal(), Clock()
    with Progress(stream, now_ns=clock) as progress:
        progress(status_at())
        clock.at_ns = S
        progress(status_at(in_flight=3))
    written = stream.getvalue()
    assert "\n" not in written
    assert "\x1b" not in written
    assert max(len(part) for part in written.split("\r")) <= 39
    assert written.endswith("\r" + " " * 39 + "\r")


def test_line_clears_what_an_earlier_one_left_when_the_terminal_is_widened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream, clock = Terminal(), Clock()
    with Progress(stream, now_ns=clock) as progress:
        for columns in (40, 120):
            monkeypatch.setenv("COLUMNS", str(columns))
            progress(status_at())
            clock.at_ns += S
    assert [len(part) for part in stream.getvalue().split("\r")] == [0, 39, 119, 119, 0]


def test_first_interrupt_says_once_what_happens_now() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress(stream, quiet=True, now_ns=clock) as progress:
        for _ in range(3):
            progress(status_at(draining=True))
    assert stream.getvalue() == (
        "draining: what is in flight is followed to its end; Ctrl-C again stops at once\n"
    )


def test_reader_of_the_progress_that_goes_away_does_not_end_the_run() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w", encoding="utf-8") as stream:
        with Progress(stream) as progress:
            progress(status_at(1))
            progress(status_at(2))
        stream.write("goes nowhere")


def test_quiet_shows_nothing() -> None:
    stream = Terminal()
    with Progress(stream, quiet=True) as progress:
        progress(status_at())
    assert stream.getvalue() == ""
