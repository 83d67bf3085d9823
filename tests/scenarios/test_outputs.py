"""What a run leaves and shows: folders apart, UTF-8, exit codes, plain logs, totals that add up."""

import asyncio
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.command_lines import BARE, Ended, answer, event, loadgen
from tests.scripted_server import LAST_CHUNK, STREAM_HEAD, ScriptedServer, Step, chunk, whole

FAILURE: list[Step] = [whole(b'{"error":{"message":"out of order"}}', 500)]
BUSY: list[Step] = [whole(b'{"error":{"message":"too many"}}', 429)]
SILENT: list[Step] = [
    STREAM_HEAD
    + event(choices=[{"index": 0, "delta": {"role": "assistant"}, "finish_reason": "stop"}])
    + chunk(b"data: [DONE]\n\n")
    + LAST_CHUNK
]


async def test_two_runs_within_a_second_leave_two_whole_folders(tmp_path: Path) -> None:
    async with ScriptedServer(answer(itl_s=0.005)) as server:
        words = ("run", server.url, *BARE, "-c", 2, "-n", 10, "--out", tmp_path)
        runs = await asyncio.gather(*(loadgen(*words, out=tmp_path) for _ in range(2)))
    assert [run.code for run in runs] == [0, 0], runs[0].stderr + runs[1].stderr
    folders = runs[0].folders
    assert len(folders) == 2
    for folder in folders:
        shown = await loadgen("report", folder, "--format", "jsonl", out=tmp_path)
        rows = [json.loads(line) for line in shown.stdout.splitlines()]
        assert [row["outcome"] for row in rows] == ["ok"] * 10
    assert {run.stdout.splitlines()[-1].split()[2] for run in runs} == {str(f) for f in folders}


async def test_an_ascii_locale_neither_breaks_files_nor_the_screen(tmp_path: Path) -> None:
    model, prompt = "org/中🙂", "说 中 🙂"
    rows = tmp_path / "中.jsonl"
    row = {"messages": [{"role": "user", "content": prompt}], "max_tokens": 8}
    rows.write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    env = {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    out = tmp_path / "out"
    async with ScriptedServer(answer(itl_s=0.002)) as server:
        words = ("run", server.url, *BARE, "-n", 3, "--keep-text", "--out", out)
        more = ("-m", model, "--workload", f"chat:{rows}")
        run = await loadgen(*words, *more, out=out, env=env)
        shown = await loadgen("report", run.folder, "--format", "jsonl", out=out, env=env)
    assert run.code == shown.code == 0, run.stderr + shown.stderr
    body = json.loads(server.requests[0].body)
    assert body["model"] == model
    assert body["messages"][0]["content"] == prompt
    document = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
    assert document["plan"]["target"]["model"] == model
    assert len(shown.stdout.splitlines()) == 3
    assert run.stdout.isascii(), "the screen is degraded to what the locale holds"


@pytest.mark.parametrize("answers", [FAILURE, SILENT], ids=["status 500", "200 without a token"])
async def test_a_run_without_a_token_fails_and_says_so_first(
    tmp_path: Path, answers: list[Step]
) -> None:
    async with ScriptedServer(answers) as server:
        words = ("run", server.url, *BARE, "-c", 2, "-n", 20, "--out", tmp_path)
        run = await loadgen(*words, out=tmp_path)
    assert run.code == 5, run.stderr
    assert "error: " in run.stderr
    assert run.summary["verdict"] == "invalid"
    if answers is FAILURE:
        screen = run.stdout
        assert "20 of 20 requests failed" in run.stderr
        assert 0 < screen.index("FAILED") < screen.index("INVALID")
        assert "out of order" in screen
    else:
        assert "no token came" in run.stderr


@pytest.mark.parametrize(("limit", "code"), [(None, 5), ("60%", 0), ("0.4", 5), ("0.5", 0)])
async def test_the_share_of_failures_that_is_borne_can_be_set(
    tmp_path: Path, limit: str | None, code: int
) -> None:
    async with ScriptedServer(*[answer(), FAILURE] * 6) as server:
        words = ["run", server.url, *BARE, "-c", 1, "-n", 12, "--out", tmp_path]
        words += [] if limit is None else ["--error-limit", limit]
        run = await loadgen(*words, out=tmp_path)
    assert run.code == code, run.stderr
    assert "6 of 12 requests failed" in run.stdout


@pytest.mark.parametrize("env", [{"CI": "true", "TERM": "dumb"}, {"NO_COLOR": "1"}])
async def test_a_log_holds_plain_lines_and_ends_with_the_folder(
    tmp_path: Path, env: dict[str, str]
) -> None:
    async with ScriptedServer(answer(itl_s=0.01)) as server:
        words = ("sweep", server.url, *BARE, "-c", "1,2", "--duration", "1s", "--out", tmp_path)
        run = await loadgen(*words, out=tmp_path, env=env)
    assert run.code == 0, run.stderr
    for text in (run.stdout, run.stderr):
        assert "\x1b" not in text
        assert "\r" not in text
    lines = run.stderr.splitlines()
    assert [line.split(" ")[1] for line in lines if line.startswith("point")][:1] == ["1/2"]
    assert 2 <= len(lines) <= 6, "a line a point and now and then one more"
    assert str(run.folder) in run.stdout.splitlines()[-1]


async def test_totals_add_up_in_every_output(tmp_path: Path) -> None:
    answers = [*[answer(3, itl_s=0.001)] * 8, FAILURE, BUSY] * 10
    async with ScriptedServer(*answers) as server:
        words = ("run", server.url, *BARE, "-c", 1, "-n", 100, "--error-limit", "50%")
        run = await loadgen(*words, "--out", tmp_path, out=tmp_path)
        outputs = {name: await shown(run, name) for name in ("json", "jsonl", "csv", "md", "text")}
    assert run.code == 0, run.stderr
    assert len(server.requests) == 100
    counts = json.loads(outputs["json"])["summary"]["points"][0]["counts"]
    assert counts["issued"] == sum(counts["outcomes"].values()) == 100
    assert counts["outcomes"] == {"ok": 80, "http_error": 20}
    assert sorted(counts["errors_by_class"].values()) == [10, 10]
    rows: list[dict[str, Any]] = [json.loads(line) for line in outputs["jsonl"].splitlines()]
    assert len(rows) == 100
    assert sum(row["outcome"] == "ok" for row in rows) == 80
    assert sorted(row["http_status"] for row in rows if row["outcome"] != "ok") == (
        [429] * 10 + [500] * 10
    )
    (line,) = csv.DictReader(io.StringIO(outputs["csv"]))
    assert (line["issued"], line["ok"], line["failed"]) == ("100", "80", "20")
    for screen in (outputs["md"], outputs["text"], run.stdout):
        assert "issued 100 = ok 80 + failed 20 + cancelled 0" in screen


async def shown(run: Ended, name: str) -> str:
    report = await loadgen("report", run.folder, "--format", name, out=run.out)
    assert report.code == 0, report.stderr
    return report.stdout
