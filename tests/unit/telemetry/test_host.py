"""The host's counters as shares and differences; what a platform does not tell is None."""

from pathlib import Path

import pytest

from loadgen import clock
from loadgen.model.observed import HostHealth
from loadgen.telemetry.handshake import split_peer
from loadgen.telemetry.host import HostWatch, run_wait_ns

S = 1_000_000_000


class FakeHost:
    """/proc and the control groups as files in a folder."""

    def __init__(self, root: Path) -> None:
        self.proc, self.cgroups = root / "proc", root / "cgroup"
        self.at_ns = 0

    def write(self, path: str, text: str) -> None:
        place = self.proc / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="ascii")

    def counters(self, *, waited_us: int, steal: int, idle: int, retrans: int, sent: int) -> None:
        self.write("pressure/cpu", f"some avg10=1.00 avg60=0.00 avg300=0.00 total={waited_us}\n")
        self.write("stat", f"cpu  10 0 10 {idle} 0 0 0 {steal} 5 0\ncpu0 1 2 3\n")
        self.write(
            "net/snmp", f"Tcp: RtoMin OutSegs RetransSegs\nTcp: 200 {sent} {retrans}\nUdp: 1\n"
        )
        self.write("loadavg", "1.50 0.70 0.60 1/100 7\n")

    def throttling(self, group: str, text: str) -> None:
        place = self.cgroups / group
        place.mkdir(parents=True, exist_ok=True)
        (place / "cpu.stat").write_text(text, encoding="ascii")

    def watch(self) -> HostWatch:
        return HostWatch(self.proc, self.cgroups)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    fake = FakeHost(tmp_path)
    monkeypatch.setattr(clock, "now_ns", lambda: fake.at_ns)
    return fake


def test_counters_become_shares_of_the_points_time(host: FakeHost) -> None:
    host.counters(waited_us=0, steal=0, idle=0, retrans=5, sent=100)
    watch = host.watch()
    watch.start()
    host.at_ns = 1 * S
    host.counters(waited_us=900_000, steal=0, idle=200, retrans=5, sent=150)
    watch.look()
    host.at_ns = 4 * S
    host.counters(waited_us=1_000_000, steal=40, idle=760, retrans=9, sent=300)
    health = watch.health()
    assert health.pressure_frac == pytest.approx(0.25)
    assert health.pressure_max_frac == pytest.approx(0.9)
    assert health.steal_frac == pytest.approx(0.05)
    assert health.steal_max_frac == pytest.approx(40 / 600)
    assert (health.retransmits, health.segments_sent) == (4, 200)
    assert health.load_1m == 1.5
    assert health.samples == 3


def test_segments_that_came_before_an_earlier_one_are_counted(host: FakeHost) -> None:
    watch = host.watch()
    for received, astray in ((100, 5), (400, 12)):
        host.write("net/snmp", f"Tcp: InSegs OutSegs\nTcp: {received} 9\n")
        host.write("net/netstat", f"TcpExt: TCPOFOQueue Other\nTcpExt: {astray} 1\nIpExt: X\n")
        if received == 100:
            watch.start()
    health = watch.health()
    assert (health.out_of_order, health.segments_received) == (7, 300)
    assert health.retransmits is None


def test_a_step_too_short_to_judge_makes_no_worst_second(host: FakeHost) -> None:
    host.counters(waited_us=0, steal=0, idle=0, retrans=0, sent=0)
    watch = host.watch()
    watch.start()
    host.at_ns = S // 100
    host.counters(waited_us=10_000, steal=0, idle=1, retrans=0, sent=0)
    assert watch.health().pressure_max_frac is None


@pytest.mark.parametrize(
    ("cgroup", "group", "text", "throttled_ns"),
    [
        ("0::/a/b\n", "a", "nr_throttled {n}\nthrottled_usec {t}\n", 7_000),
        ("4:cpu,cpuacct:/a\n", "cpu,cpuacct", "nr_throttled {n}\nthrottled_time {t}\n", 7),
        ("5:memory:/m\n4:cpu:/a\n", "cpu/a", "nr_throttled {n}\nthrottled_time {t}\n", 7),
    ],
)
def test_throttling_is_read_from_the_nearest_group_that_counts_it(
    host: FakeHost, cgroup: str, group: str, text: str, throttled_ns: int
) -> None:
    host.write("self/cgroup", cgroup)
    host.throttling(group, text.format(n=1, t=3))
    watch = host.watch()
    watch.start()
    host.throttling(group, text.format(n=3, t=10))
    health = watch.health()
    assert (health.throttles, health.throttled_ns) == (2, throttled_ns)


def test_a_platform_that_tells_nothing_is_none_throughout(host: FakeHost) -> None:
    watch = host.watch()
    watch.start()
    host.at_ns = S
    assert watch.health() == HostHealth(samples=2)
    assert run_wait_ns(host.proc) is None


def test_waiting_for_a_core_is_the_second_word_of_schedstat(host: FakeHost) -> None:
    host.write("self/schedstat", "100 250 7\n")
    assert run_wait_ns(host.proc) == 250


def test_round_trips_are_kept_as_least_middle_and_most(host: FakeHost) -> None:
    watch = host.watch()
    watch.start()
    for rtt_ns in (30, 10, 50):
        watch.note_rtt(rtt_ns)
    health = watch.health()
    assert (health.rtt_min_ns, health.rtt_p50_ns, health.rtt_max_ns, health.rtt_n) == (
        10,
        30,
        50,
        3,
    )
    watch.start()
    assert watch.health().rtt_min_ns is None


@pytest.mark.parametrize(
    ("peer", "place"),
    [
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        ("[::1]:8000", ("::1", 8000)),
        ("", None),
        ("host", None),
        ("a:b", None),
    ],
)
def test_a_peer_is_split_into_host_and_port(peer: str, place: tuple[str, int] | None) -> None:
    assert split_peer(peer) == place
