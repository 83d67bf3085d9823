"""The machine's own counters: waiting for a core, steal, throttling, lost segments, load.

Linux tells them in /proc and the control group's files; elsewhere all are None.
"""

from pathlib import Path

from msgspec import Struct

from loadgen import clock
from loadgen.model.observed import HostHealth
from loadgen.units import NS_PER_S, NS_PER_US

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")
STEP_MIN_NS = NS_PER_S // 2
"""Shares over a shorter step are noise, and no worst second is made of them."""


def run_wait_ns(proc: Path = PROC) -> int | None:
    """How long this process's main thread has waited for a core so far, ns.

    Second field of `schedstat` (kernel documentation, scheduler/sched-stats).
    """
    words = _read(proc / "self" / "schedstat").split()
    return int(words[1]) if len(words) > 1 else None


class Reading(Struct, frozen=True):
    """Counters since boot at one instant."""

    at_ns: int
    pressure_ns: int | None = None
    core_ticks: int | None = None
    """Of all cores, busy or idle; the unit cancels."""
    steal_ticks: int | None = None
    throttles: int | None = None
    throttled_ns: int | None = None
    segments_sent: int | None = None
    retransmits: int | None = None
    segments_received: int | None = None
    out_of_order: int | None = None
    load_1m: float | None = None


class HostWatch:
    """Takes readings: `start`, `look` once a second, `health` at the end."""

    def __init__(self, proc: Path = PROC, cgroups: Path = CGROUPS) -> None:
        self._proc = proc
        self._cpu_stat = _find_cpu_stat(proc, cgroups)
        self._first = self._last = Reading(0)
        self._pressure_max: float | None = None
        self._steal_max: float | None = None
        self._samples = 0
        self._rtt_ns: list[int] = []

    def start(self) -> None:
        """Begins anew: earlier readings are forgotten."""
        self._first = self._last = self._reading()
        self._pressure_max = self._steal_max = None
        self._samples = 1
        self._rtt_ns = []

    def look(self) -> None:
        """One more reading, held against the one before."""
        before, now = self._last, self._reading()
        if now.at_ns - before.at_ns >= STEP_MIN_NS:
            self._pressure_max = _most(self._pressure_max, _pressure_frac(before, now))
            self._steal_max = _most(self._steal_max, _steal_frac(before, now))
        self._last = now
        self._samples += 1

    def note_rtt(self, rtt_ns: int) -> None:
        """One handshake with the target."""
        self._rtt_ns.append(rtt_ns)

    def health(self) -> HostHealth:
        """The readings since `start` as differences and shares; takes a last one."""
        self.look()
        first, last, rtts = self._first, self._last, sorted(self._rtt_ns)
        return HostHealth(
            samples=self._samples,
            pressure_frac=_pressure_frac(first, last),
            pressure_max_frac=self._pressure_max,
            steal_frac=_steal_frac(first, last),
            steal_max_frac=self._steal_max,
            throttles=_less(last.throttles, first.throttles),
            throttled_ns=_less(last.throttled_ns, first.throttled_ns),
            segments_sent=_less(last.segments_sent, first.segments_sent),
            retransmits=_less(last.retransmits, first.retransmits),
            segments_received=_less(last.segments_received, first.segments_received),
            out_of_order=_less(last.out_of_order, first.out_of_order),
            load_1m=last.load_1m,
            rtt_min_ns=min(rtts, default=None),
            rtt_p50_ns=rtts[len(rtts) // 2] if rtts else None,
            rtt_max_ns=max(rtts, default=None),
            rtt_n=len(rtts),
        )

    def _reading(self) -> Reading:
        core_ticks, steal_ticks = _core_ticks(_read(self._proc / "stat"))
        throttling = _pairs(_read(self._cpu_stat)) if self._cpu_stat is not None else {}
        throttled_us = throttling.get("throttled_usec")
        throttled_ns = None if throttled_us is None else throttled_us * NS_PER_US
        tcp = _counters(_read(self._proc / "net" / "snmp"), "Tcp:")
        more = _counters(_read(self._proc / "net" / "netstat"), "TcpExt:")
        load = _read(self._proc / "loadavg").split()
        return Reading(
            at_ns=clock.now_ns(),
            pressure_ns=_pressure_ns(_read(self._proc / "pressure" / "cpu")),
            core_ticks=core_ticks,
            steal_ticks=steal_ticks,
            throttles=throttling.get("nr_throttled"),
            throttled_ns=throttling.get("throttled_time", throttled_ns),
            segments_sent=tcp.get("OutSegs"),
            retransmits=tcp.get("RetransSegs"),
            segments_received=tcp.get("InSegs"),
            out_of_order=more.get("TCPOFOQueue"),
            load_1m=float(load[0]) if load else None,
        )


def _read(path: Path) -> str:
    """The text; empty where the file is not there or may not be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _find_cpu_stat(proc: Path, cgroups: Path) -> Path | None:
    """The nearest `cpu.stat` that counts throttling, from this process's group upwards."""
    for line in _read(proc / "self" / "cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = cgroups / controllers if controllers else cgroups
        place = root / group.strip("/")
        for folder in (place, *place.parents):
            if "nr_throttled" in _read(folder / "cpu.stat"):
                return folder / "cpu.stat"
            if folder == root:
                break
    return None


def _pressure_ns(text: str) -> int | None:
    """`some ... total=MICROSECONDS`."""
    for line in text.splitlines():
        if line.startswith("some "):
            return int(line.rpartition("total=")[2]) * NS_PER_US
    return None


def _core_ticks(text: str) -> tuple[int | None, int | None]:
    """(all, steal) of the first line; guest time is inside user time, so it is left out."""
    words = text.partition("\n")[0].split()
    if len(words) < 9 or words[0] != "cpu":
        return None, None
    ticks = [int(word) for word in words[1:9]]
    return sum(ticks), ticks[7]


def _pairs(text: str) -> dict[str, int]:
    found = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in found if len(pair) == 2}


def _counters(text: str, group: str) -> dict[str, int]:
    """Two lines that begin with the group's word, names and values."""
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith(group)]
    if len(lines) != 2:
        return {}
    return {name: int(value) for name, value in zip(*lines, strict=True)}


def _less(last: int | None, first: int | None) -> int | None:
    return None if last is None or first is None else last - first


def _pressure_frac(first: Reading, last: Reading) -> float | None:
    waited_ns, passed_ns = _less(last.pressure_ns, first.pressure_ns), last.at_ns - first.at_ns
    return None if waited_ns is None or passed_ns <= 0 else min(1.0, waited_ns / passed_ns)


def _steal_frac(first: Reading, last: Reading) -> float | None:
    stolen, total = (
        _less(last.steal_ticks, first.steal_ticks),
        _less(last.core_ticks, first.core_ticks),
    )
    return None if stolen is None or not total else stolen / total


def _most(one: float | None, other: float | None) -> float | None:
    return max((share for share in (one, other) if share is not None), default=None)
