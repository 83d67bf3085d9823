"""Files are UTF-8 whatever the platform's encoding is (field case O03)."""

import os
import subprocess
import sys
from pathlib import Path

from loadgen.store.journal import read_journal
from loadgen.store.recording import read_recording

ROOT = Path(__file__).parents[2]
MODEL = "org/中🙂-small"


def test_names_and_texts_are_utf8_under_an_ascii_locale(tmp_path: Path) -> None:
    ascii_only = {**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "tests.scenarios.store_under_ascii", str(tmp_path), MODEL]
    done = subprocess.run(command, cwd=ROOT, env=ascii_only, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    (folder,) = tmp_path.iterdir()
    recording = read_recording(folder)
    assert folder.name.endswith("-small-closed-1")
    assert recording.plan.target.model == MODEL
    assert recording.table.detail.tolist() == [MODEL]
    assert recording.table.output_text.tolist() == ["中🙂"]
    assert [note.text for note in read_journal(folder).notes] == [MODEL]
