"""Staged sicknesses of client and host: each fires its finding, and healthy runs fire no doubt."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.accuracy.sickness import Diagnosis, Patient, diagnose

pytestmark = [
    pytest.mark.xdist_group("accuracy"),
    pytest.mark.skipif(sys.platform != "linux", reason="stages its sicknesses by /proc"),
]

HEALTHY_RUNS = 3
HEALTHY_RUNS_SLOW = 20

SICK = {"client_stalled", "gc_pauses", "cpu_throttled", "scribe_behind", "clock_stepped"}
CROWDED = {"host_contended", "client_bound", "steadiness_unknown", "drifting", "anomaly"}
"""What a healthy run on a crowded machine may doubt, where the crowd is confirmed from outside."""


def stopped(pid: int, for_s: float) -> None:
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(for_s)
    finally:
        os.kill(pid, signal.SIGCONT)


def in_worker(folder: Path, *lines: str) -> dict[str, str]:
    """An environment in which workers, and nobody else, run these lines as they start."""
    body = "\n".join(f"    {line}" for line in lines)
    condition = 'if "loadgen.measure.worker" in sys.orig_argv:'
    (folder / "sitecustomize.py").write_text(f"import sys\n{condition}\n{body}\n")
    return {"PYTHONPATH": str(folder)}


def test_a_worker_stopped_for_a_second_stood_still_and_sent_late(tmp_path: Path) -> None:
    def ail(patient: Patient) -> None:
        stopped(patient.worker, 1.0)

    words = ("--load", "constant:rate=20/s", "--duration", "4s", "--osl", "20")
    found = diagnose(tmp_path, *words, ail=ail)
    assert found.findings.get("client_stalled") == "doubt", found.told
    assert "late_sends" in found.findings, found.told
    assert found.document["summary"]["verdict"] != "valid"


def test_a_storm_of_the_collector_is_told(tmp_path: Path) -> None:
    storm = (
        "import gc, threading, time",
        "def storm():",
        "    time.sleep(1.5)",
        "    held = [[] for _ in range(1_500_000)]",
        "    while held:",
        "        gc.collect()",
        "        time.sleep(0.2)",
        "threading.Thread(target=storm, daemon=True).start()",
    )
    words = ("--load", "closed:4", "--duration", "4s", "--osl", "20")
    found = diagnose(tmp_path, *words, environment=in_worker(tmp_path, *storm))
    assert "gc_pauses" in found.findings, found.told
    assert found.health["gc_pauses"] > 1


def test_a_step_of_the_clock_is_told_and_no_stamp_follows_it(tmp_path: Path) -> None:
    step = (
        "import time",
        "from loadgen import clock",
        "honest, began = clock.realtime_offset_ns, time.monotonic()",
        "def stepped():",
        "    away = 2.0 < time.monotonic() - began < 2.3",
        "    return honest() + 500_000_000 * away",
        "clock.realtime_offset_ns = stepped",
    )
    words = ("--load", "closed:4", "--duration", "4s", "--osl", "20")
    found = diagnose(tmp_path, *words, environment=in_worker(tmp_path, *step))
    assert "clock_stepped" in found.findings, found.told
    measures = found.document["summary"]["points"][0]["whole"]
    assert measures["itl_s.max"]["value"] is None or measures["itl_s.max"]["value"] < 0.45


def test_a_scribe_that_does_not_write_is_told(tmp_path: Path) -> None:
    def ail(patient: Patient) -> None:
        stopped(patient.scribe, 2.5)

    words = ("--load", "closed:32", "--duration", "5s", "--osl", "10000")
    fat = {"ttft_ms": 5, "itl_ms": 5, "tokens_per_chunk": 400}
    found = diagnose(tmp_path, *words, ail=ail, timetable=fat)
    assert "scribe_behind" in found.findings, found.told
    assert found.health["scribe_behind_bytes"] > 1_000_000


def healthy(folder: Path) -> Diagnosis:
    return diagnose(folder, "--load", "closed:4", "--duration", "4s", "--osl", "10")


def is_sound(found: Diagnosis) -> bool:
    """No doubt at all, but what a confirmed crowd explains."""
    allowed = CROWDED if "host_contended" in found.findings else set()
    return not found.doubts - allowed and not SICK & found.doubts


def test_healthy_runs_fire_no_doubt_and_their_canary_is_heard(tmp_path: Path) -> None:
    for number in range(HEALTHY_RUNS):
        found = healthy(tmp_path / str(number))
        assert is_sound(found), found.told
        assert found.health["canary_n"] >= 20
        assert found.health["canary_stamp"] == "kernel"
        assert "canary alone" in found.document["summary"]["points"][0]["client_basis"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_healthy_runs_fire_no_doubt(tmp_path: Path) -> None:
    for number in range(HEALTHY_RUNS_SLOW):
        found = healthy(tmp_path / str(number))
        print(number, found.findings)
        assert is_sound(found), found.told


@pytest.mark.slow
def test_hogs_beside_the_client_are_told(tmp_path: Path) -> None:
    def ail(_patient: Patient) -> None:
        hogs = [
            subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(3 * (os.cpu_count() or 1))
        ]
        time.sleep(3)
        for hog in hogs:
            hog.kill()
            hog.wait()

    words = ("--load", "closed:8", "--duration", "5s", "--osl", "50")
    found = diagnose(tmp_path, *words, ail=ail)
    assert "host_contended" in found.findings, found.told


@contextmanager
def quota_of_a_fifth(pid: int) -> Iterator[None]:
    """The process in a control group of its own with a fifth of a core; skips where forbidden."""
    group = Path("/sys/fs/cgroup/cpu/loadgen-sickness")
    try:
        group.mkdir()
        (group / "cpu.cfs_period_us").write_text("100000")
        (group / "cpu.cfs_quota_us").write_text("20000")
    except OSError:
        with suppress(OSError):
            group.rmdir()
        pytest.skip("no control group can be made here")
    try:
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        (group.parent / "cgroup.procs").write_text(str(pid))
        group.rmdir()


@pytest.mark.slow
def test_a_cpu_quota_that_runs_out_is_told(tmp_path: Path) -> None:
    from loadgen.telemetry.host import HostWatch

    with quota_of_a_fifth(os.getpid()):
        watch = HostWatch()
        watch.start()
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            pass
        assert (watch.health().throttles or 0) > 0
        words = ("--load", "closed:8", "--duration", "4s", "--osl", "50")
        found = diagnose(tmp_path, *words)
    assert "cpu_throttled" in found.findings, found.told


LOSSY = """
ip link set lo up
nft add table inet lossy || exit 77
nft add chain inet lossy in '{ type filter hook input priority 0; }' || exit 77
nft add rule inet lossy in tcp dport != 22 numgen random mod 100 '<' 3 drop || exit 77
exec "$@"
"""


@pytest.mark.slow
def test_packet_loss_is_told(tmp_path: Path) -> None:
    if shutil.which("nft") is None or shutil.which("unshare") is None:
        pytest.skip("needs nft and unshare")
    script = (
        "from pathlib import Path; from tests.accuracy.sickness import diagnose; import sys\n"
        f"found = diagnose(Path({str(tmp_path)!r}), '--load', 'closed:8', '--duration', '5s',"
        " '--osl', '50')\n"
        "print(found.told); sys.exit('retransmits' not in found.findings)"
    )
    command = ["unshare", "-n", "sh", "-c", LOSSY, "sh", sys.executable, "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    if ended.returncode == 77 or "unshare" in ended.stderr:
        pytest.skip(f"no lossy network can be made here: {ended.stderr.strip()}")
    assert ended.returncode == 0, ended.stdout + ended.stderr
