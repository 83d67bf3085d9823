"""The progress of a run on stderr: one line rewritten in place, or a plain line now and then."""

import shutil
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from loadgen import clock
from loadgen.cli.errors import discard
from loadgen.units import NS_PER_S

if TYPE_CHECKING:
    from loadgen.measure import Status

PLAIN_EVERY_NS = 10 * NS_PER_S
REWRITE_EVERY_NS = NS_PER_S // 5
MS_PER_S = 1000
DOT = " · "
DRAINING = "draining: what is in flight is followed to its end; Ctrl-C again stops at once"
LEAST_NEEDED = ("client ok", "in flight", "ttft", "eta")


def format_status(status: "Status", width: int | None = None) -> str:
    """`point 3/6 c=4 · window 22/60 s · 4 in flight · 527 tok/s · ... · ETA 3:50`.

    What a narrow terminal has no room for is left out, the least needed first.
    """
    facts = _facts(status)
    line = DOT.join(facts.values())
    for name in LEAST_NEEDED:
        if width is None or len(line) <= width:
            break
        facts.pop(name, None)
        line = DOT.join(facts.values())
    return line if width is None else line[:width]


def _facts(status: "Status") -> dict[str, str]:
    """What the line says, by name, in its order."""
    shape, _, value = status.load.partition(":")
    load = f"c={value}" if shape == "closed" else status.load
    planned = "" if status.planned_s is None else f"/{status.planned_s:.0f}"
    facts = {
        "point": f"point {status.point_no}/{status.points} {load}",
        "phase": f"{status.phase} {status.elapsed_s:.0f}{planned} s",
        "in flight": f"{status.in_flight} in flight",
    }
    if status.sessions:
        facts["sessions"] = status.sessions
    if status.out_tps is not None:
        facts["rate"] = f"{status.out_tps:,.0f} tok/s"
    if status.ttft_p50_s is not None:
        facts["ttft"] = f"TTFT p50 {status.ttft_p50_s * MS_PER_S:,.0f} ms"
    facts["errors"] = f"{status.failed} error{'' if status.failed == 1 else 's'}"
    facts["client ok" if status.client_ok else "late"] = (
        "client ok" if status.client_ok else "client late"
    )
    if status.eta_s is not None:
        minutes, seconds = divmod(round(status.eta_s), 60)
        facts["eta"] = f"ETA {minutes}:{seconds:02d}"
    return facts


class Progress:
    """Shows each status it is called with, as often as its stream bears. Leave it to end the line.

    On a terminal one line is rewritten; elsewhere a plain line comes at the start of every point
    and every 10 s, without any control character. Quiet, it shows nothing.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        quiet: bool = False,
        now_ns: Callable[[], int] | None = None,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._now_ns = now_ns or clock.now_ns
        self._rewrites = self._stream.isatty()
        self._shown_at_ns: int | None = None
        self._point = 0
        self._is_open = False
        self._told_draining = False

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._wipe()

    def __call__(self, status: "Status") -> None:
        """Shows the status unless the last one is too fresh; a new point is shown at once."""
        if status.draining and not self._told_draining:
            self._told_draining = True
            self._wipe()
            self._write(DRAINING + "\n")
        now_ns = self._now_ns()
        every_ns = REWRITE_EVERY_NS if self._rewrites else PLAIN_EVERY_NS
        fresh = self._shown_at_ns is not None and now_ns - self._shown_at_ns < every_ns
        if self._quiet or (fresh and status.point_no == self._point):
            return
        self._shown_at_ns, self._point = now_ns, status.point_no
        self._show(status)

    def _show(self, status: "Status") -> None:
        """Writes one line, over the last one where the stream is a terminal."""
        if not self._rewrites:
            self._write(format_status(status) + "\n")
            return
        self._write("\r" + _to_the_edge(format_status(status, _columns())))
        self._is_open = True

    def _wipe(self) -> None:
        """Clears the line that is rewritten, where one stands."""
        if self._is_open:
            self._write("\r" + _to_the_edge("") + "\r")
            self._is_open = False

    def _write(self, text: str) -> None:
        """Writes at once; a reader that went away must not end the run."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            self._quiet, self._is_open = True, False
            discard(self._stream)


def _columns() -> int:
    """Columns of the terminal as it is now, but for the last, which would wrap."""
    return shutil.get_terminal_size().columns - 1


def _to_the_edge(line: str) -> str:
    """The line padded with blanks, so that nothing of an earlier one stands on behind it."""
    return line.ljust(_columns())
