"""`--repeat`, `--vs` and `--like` against a real llama.cpp server: turns, folders, what is told."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_servers import Server, llama_server
from tests.sweeps import finish, running

SHORT = ("-m", "tiny", "--no-preflight", "--isl", 32, "--osl", 32, "-n", 20, "--quiet")


@pytest.fixture(scope="module")
def llama() -> Iterator[Server]:
    with llama_server(slots=2) as server:
        yield server


def made(out: Path, *words: object) -> tuple[list[Path], str]:
    """The run folders below `out`, and the screen."""
    with running(*words, "--out", out) as process:
        done = finish(process, out)
    assert done.code == 0, done.stderr
    return sorted(path.parent for path in out.rglob("run.json")), done.stdout


def test_a_run_is_made_again_and_held_against_the_earlier_one(
    llama: Server, tmp_path: Path
) -> None:
    [first], screen = made(tmp_path / "first", "run", llama.url, "-c", 2, *SHORT)
    assert f"loadgen run --like {first}" in screen
    [_], screen = made(tmp_path / "again", "run", "--like", first, "--quiet")

    told = next(line for line in screen.splitlines() if line.startswith("  repeat"))
    assert any(word in told for word in ("REPRODUCED", "can't be told"))


def test_two_targets_take_turns_and_are_compared(llama: Server, tmp_path: Path) -> None:
    words = ("run", llama.url, "--vs", llama.url, "--repeat", 2, "-c", 2, *SHORT)
    folders, screen = made(tmp_path, *words)

    assert [folder.parent.name for folder in folders] == ["base", "base", "new", "new"]
    assert "verdict" in screen
    assert "loadgen compare" in screen


def test_a_repeated_run_tells_its_spread(llama: Server, tmp_path: Path) -> None:
    folders, screen = made(tmp_path, "run", llama.url, "--repeat", 3, "-c", 2, *SHORT)

    assert len(folders) == 3
    assert "run-to-run" in screen
