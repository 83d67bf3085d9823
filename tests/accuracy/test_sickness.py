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

from tests.accuracy.lossy import NOT_HERE, in_a_network
from tests.accuracy.sickness import Diagnosis, Patient, diagnose

pytestmark = [
    pytest.mark.xdist_group("accuracy"),
    pytest.mark.skipif(sys.platform != "linux", reason="stages its sicknesses by /proc"),
]

ROOT = Path(__file__).parents[2]
TRIES = 3
"""Runs that a crowd disturbed, by counters outside the client, are made again."""
HEALTHY_LOADS = [
    ("closed:1", 20, 10),
    ("closed:4", 20, 10),
    ("closed:64", 40, 20),
    ("constant:rate=20/s", 20, 10),
    ("poisson:rate=20/s", 20, 10),
]
"""Load, answer length in tokens, gap between tokens in ms: four runs of each make the twenty."""


def stopped(pid: int, for_s: float) -> None:
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(for_s)
    finally:
        os.kill(pid, signal.SIGCONT)


def inside(role: str, folder: Path, *lines: str) -> dict[str, str]:
    """An environment in which workers (or scribes), and nobody else, run these lines first."""
    body = "\n".join(f"    {line}" for line in lines)
    condition = f'if "loadgen.measure.{role}" in sys.orig_argv:'
    (folder / "sitecustomize.py").write_text(f"import sys\n{condition}\n{body}\n")
    return {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


def assert_fires(code: str, found: Diagnosis) -> None:
    """The finding is there, and no other sickness is blamed; lost segments may be anybody's."""
    assert code in found.findings, found.told
    others = found.sicknesses - {code, "retransmits"}
    assert not others or "host_contended" in found.findings, found.told


def test_a_worker_stopped_for_a_second_stood_still_and_sent_late(tmp_path: Path) -> None:
    def ail(patient: Patient) -> None:
        stopped(patient.worker, 1.0)

    words = ("--load", "constant:rate=20/s", "--duration", "3s", "--osl", "20")
    found = diagnose(tmp_path, *words, ail=ail)
    assert_fires("client_stalled", found)
    assert found.findings["client_stalled"] == "doubt"
    assert "late_sends" in found.findings, found.told
    assert found.document["summary"]["verdict"] != "valid"


def test_a_storm_of_the_collector_is_told(tmp_path: Path) -> None:
    storm = (
        "import gc, threading, time",
        "def storm():",
        "    time.sleep(1.0)",
        "    held = [[] for _ in range(1_500_000)]",
        "    while held:",
        "        gc.collect()",
        "        time.sleep(0.2)",
        "threading.Thread(target=storm, daemon=True).start()",
    )
    words = ("--load", "closed:4", "--duration", "3s", "--osl", "20")
    found = diagnose(tmp_path, *words, environment=inside("worker", tmp_path, *storm))
    assert_fires("gc_pauses", found)
    assert found.health["gc_pauses"] > 1


def test_a_step_of_the_clock_is_told_and_no_stamp_follows_it(tmp_path: Path) -> None:
    step = (
        "import time",
        "from loadgen import clock",
        "honest, began_s = clock.realtime_offset_ns, time.monotonic()",
        "def stepped():",
        "    away = (time.monotonic() - began_s) % 1.5 > 1.2",  # never at the first look
        "    return honest() + 500_000_000 * away",
        "clock.realtime_offset_ns = stepped",
    )
    words = ("--load", "closed:4", "--duration", "3s", "--osl", "20")
    found = diagnose(tmp_path, *words, environment=inside("worker", tmp_path, *step))
    assert_fires("clock_stepped", found)
    measures = found.document["summary"]["points"][0]["whole"]
    assert measures["itl_s.max"]["value"] is None or measures["itl_s.max"]["value"] < 0.45


FAT = {"ttft_ms": 5, "itl_ms": 5, "tokens_per_chunk": 400}


def test_a_scribe_that_does_not_write_is_told(tmp_path: Path) -> None:
    def ail(patient: Patient) -> None:
        stopped(patient.scribe, 2.2)

    words = ("--load", "closed:32", "--duration", "3.5s", "--osl", "10000")
    found = diagnose(tmp_path, *words, ail=ail, timetable=FAT)
    assert_fires("scribe_behind", found)
    assert found.health["scribe_behind_bytes"] > 1_000_000


@pytest.mark.slow
def test_a_disk_that_takes_three_seconds_for_a_write_is_told(tmp_path: Path) -> None:
    slow = (
        "import time",
        "from loadgen.store.segments import SegmentWriter",
        "honest, waits_s = SegmentWriter._write, [3.0]",
        "def write(self, content):",
        "    time.sleep(waits_s.pop() if waits_s else 0.0)",
        "    honest(self, content)",
        "SegmentWriter._write = write",
    )
    words = ("--load", "closed:32", "--duration", "5s", "--osl", "10000")
    environment = inside("scribe", tmp_path, *slow)
    found = diagnose(tmp_path, *words, timetable=FAT, environment=environment)
    assert_fires("scribe_behind", found)


def test_too_few_requests_are_told(tmp_path: Path) -> None:
    found = diagnose(tmp_path, "--load", "closed:2", "--requests", "6", "--osl", "10")
    assert "too_few" in found.findings, found.told
    measures = found.document["summary"]["points"][0]["measures"]
    assert measures["ttft_s.p99"]["value"] is None
    assert not found.sicknesses - {"retransmits"} or "host_contended" in found.findings


def test_a_healthy_run_fires_no_doubt_and_its_canary_is_heard(tmp_path: Path) -> None:
    for number in range(TRIES):
        words = ("--load", "closed:4", "--duration", "3s", "--osl", "10")
        found = diagnose(tmp_path / str(number), *words)
        if found.is_sound or "host_contended" not in found.findings:
            break
    assert found.is_sound, found.told
    assert found.health["canary_n"] >= 20
    assert found.health["canary_stamp"] == "kernel"
    assert "canary alone" in found.document["summary"]["points"][0]["client_basis"]


@pytest.mark.slow
@pytest.mark.parametrize(("load", "osl", "itl_ms"), HEALTHY_LOADS)
def test_twenty_healthy_runs_fire_no_doubt(
    load: str, osl: int, itl_ms: float, tmp_path: Path
) -> None:
    for number in range(20 // len(HEALTHY_LOADS)):
        words = ("--load", load, "--duration", "6s", "--osl", str(osl))
        timetable = {"ttft_ms": 30, "itl_ms": itl_ms}
        found = diagnose(tmp_path / str(number), *words, timetable=timetable)
        print(number, found.findings)
        assert found.is_sound, found.told


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


@pytest.mark.slow
@pytest.mark.parametrize("where", ["near", "far"])
def test_packet_loss_is_told(where: str, tmp_path: Path) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare, ip and tc")
    ended = in_a_network(where, tmp_path)
    if ended.returncode == NOT_HERE or "unshare" in ended.stderr:
        pytest.skip(f"no lossy network can be made here: {ended.stderr.strip()}")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    told = [line for line in ended.stdout.splitlines() if line.startswith("retransmits ")]
    assert told, ended.stdout
    assert ("sent again" in told[0]) == (where == "near")
    assert "out of order" in told[0]
