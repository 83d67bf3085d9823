"""Files that are no results, or wrong ones: file, line, place, value and what was expected."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.cli import run_line
from loadgen.errors import InputError
from loadgen.foreign import read_foreign
from tests.unit.foreign_results import AIPERF, VLLM, foreign_file

Change = Callable[[Any], object]


def wrong(path: Path) -> str:
    """What is said of the file."""
    with pytest.raises(InputError) as error:
        read_foreign(path)
    assert str(path) in str(error.value)
    return f"{error.value} | {error.value.hint}"


def guidellm_info(value: Any) -> Any:
    """What guidellm's file says of its first request."""
    return value["benchmarks"][0]["requests"]["successful"][0]["info"]


def changed(source: Path, to: Path, change: Change) -> Path:
    value = msgspec.json.decode(source.read_bytes())
    change(value)
    to.write_bytes(msgspec.json.encode(value))
    return to


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "x.json:1`: JSON was expected"),
        (b"hello", "x.json:1`: JSON was expected"),
        (b'{"a": 1}\n{"b": \n', "x.json:2`: JSON was expected"),
        (b"[1, 2]", "line 1 holds no JSON object"),
        (b'{"results": []}', "an object with `results`"),
        (b"\xff\xfe\x00", "JSON was expected"),
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)

    assert said in wrong(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda v: v["ttfts"].__setitem__(2, "soon"), "$.ttfts[2]`: a number was expected; the"),
        (lambda v: v["ttfts"].pop(), "$.itls`: 15 values were expected"),
        (lambda v: v.pop("itls"), "$.itls`: a list with one value a request was expected"),
        (lambda v: v.pop("itls"), "| measure again with `vllm bench serve --save-result"),
        (lambda v: v.pop("completed"), "missing required field `completed`"),
        (lambda v: v["output_lens"].__setitem__(0, 1.5), "$.output_lens[0]`"),
    ],
)
def test_a_wrong_value_of_vllms_is_named(tmp_path: Path, change: Change, said: str) -> None:
    assert said in wrong(changed(VLLM, tmp_path / "serve.json", change))


def test_a_wrong_value_of_aiperfs_is_named_with_its_line(tmp_path: Path) -> None:
    lines = AIPERF.read_bytes().splitlines()
    bad = msgspec.json.decode(lines[4])
    bad["metrics"]["time_to_first_token"]["unit"] = "fortnights"
    path = tmp_path / "profile_export.jsonl"
    path.write_bytes(b"\n".join([*lines[:4], msgspec.json.encode(bad), *lines[5:]]))

    said = wrong(path)
    assert ":5` at `$.metrics.time_to_first_token.unit`" in said
    assert "one of ns, us, ms, s, sec was expected; the value is 'fortnights'" in said


def test_a_summary_of_aiperfs_alone_names_the_file_that_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "profile_export_aiperf.json"
    path.write_bytes(AIPERF.with_name(path.name).read_bytes())

    assert "give profile_export.jsonl of the same folder" in wrong(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda v: v["benchmarks"][1]["scheduler_metrics"].pop("measure_start_time"),
            "$.benchmarks[1].scheduler_metrics`: missing required field `measure_start_time`",
        ),
        (
            lambda v: v["benchmarks"][0].__setitem__("requests", {}),
            "$.benchmarks[0].requests`: requests were expected; all 10 were left out",
        ),
        (
            lambda v: guidellm_info(v).__setitem__("turn_index", 2**70),
            "$.benchmarks[0].requests.successful[0].info.turn_index`",
        ),
        (
            lambda v: guidellm_info(v)["timings"].__setitem__("request_start", 1e7),
            "g.json`: requests within 30 days of each other were expected; they span 20,",
        ),
    ],
)
def test_a_wrong_value_of_guidellms_is_named(tmp_path: Path, change: Change, said: str) -> None:
    assert said in wrong(changed(foreign_file("guidellm", tmp_path), tmp_path / "g.json", change))


def test_a_sample_of_guidellms_requests_says_so(tmp_path: Path) -> None:
    def half(value: Any) -> None:
        del value["benchmarks"][0]["requests"]["successful"][4:]

    path = changed(foreign_file("guidellm", tmp_path), tmp_path / "g.json", half)
    imported = read_foreign(path).imported

    assert imported is not None
    assert "point 0 holds a sample of 6 of 10 requests" in imported.notes


def test_the_command_line_reads_a_file_and_refuses_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_line(["report", str(VLLM)]) == 0
    assert "vllm, read by loadgen" in capsys.readouterr().out
    assert run_line(["compare", str(VLLM), str(AIPERF)]) == 0
    assert "other prompts are another" in capsys.readouterr().out
    path = tmp_path / "x.json"
    path.write_text("{}", encoding="utf-8")
    assert run_line(["report", str(path)]) == 3
    assert "known: a run folder, vllm bench serve JSON" in capsys.readouterr().err
