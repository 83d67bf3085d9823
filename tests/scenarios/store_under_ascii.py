"""A program for test_ascii_locale: makes, writes and reads a run folder named by its arguments."""

import sys
from pathlib import Path

import msgspec

from loadgen.store.folder import RunFile, create_run_folder, name_hint, write_run_file
from loadgen.store.journal import append_note
from loadgen.store.recording import read_recording
from loadgen.store.segments import SegmentWriter
from tests.stored_records import plan, record


def main(out: Path, model: str) -> None:
    run_plan = plan(model)
    folder = create_run_folder(out, name_hint(run_plan))
    write_run_file(folder, RunFile(plan=run_plan))
    writer = SegmentWriter(folder, 0)
    writer.append(msgspec.structs.replace(record(0), detail=model, output_text="中🙂"))
    writer.close()
    append_note(folder, 0, model)
    read_recording(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
