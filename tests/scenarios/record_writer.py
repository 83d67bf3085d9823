"""A program for test_kill_writer: writes a run folder as a scribe does until it is killed.

Every record that it appends stands in `appended.log` with its sequence number and instant.
"""

import os
import sys
import time
from pathlib import Path

from loadgen import clock
from loadgen.store.folder import RunFile, write_run_file
from loadgen.store.progress import Progress
from loadgen.store.segments import SegmentWriter
from loadgen.units import NS_PER_S
from tests.stored_records import plan, record

FLUSH_PERIOD_NS = NS_PER_S // 4
PAUSE_S = 0.0005


def main(folder: Path) -> None:
    write_run_file(folder, RunFile(plan=plan()))
    row = Progress.create(folder, shares=1).worker(0)
    writer = SegmentWriter(folder, 0)
    log = os.open(folder / "appended.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    flushed_at_ns = clock.now_ns()
    seq = 0
    while True:
        now_ns = clock.now_ns()
        row.issued = seq + 1
        writer.append(record(seq, due_at_ns=now_ns, n_events=50))
        os.write(log, b"%d %d\n" % (seq, now_ns))
        seq += 1
        if now_ns - flushed_at_ns >= FLUSH_PERIOD_NS:
            writer.flush()
            flushed_at_ns = now_ns
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
