"""Run folders never collide, and run.json is whole, strict and refused by name when it can't be."""

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from loadgen.errors import InputError, LoadgenError
from loadgen.model.plan import Plan
from loadgen.store.folder import (
    FORMAT_VERSION,
    RUN_FILE,
    RunFile,
    create_run_folder,
    name_hint,
    read_run_file,
    update_run_file,
    write_report,
    write_run_file,
)
from tests.stored_records import plan, start_run


def test_a_folder_is_named_by_utc_minute_model_and_load(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path / "results", "llama-3-8b-closed:1..16")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\dZ-llama-3-8b-closed-1..16", folder.name)


@pytest.mark.parametrize(
    ("model", "loads", "name"),
    [
        ("org/Llama-3", ("closed:4",), "Llama-3-closed:4"),
        ("m", ("closed:1", "closed:2", "closed:8"), "m-closed:1..8"),
        ("m", ("closed:1", "poisson:rate=4/s"), "m-closed:1..poisson:rate=4/s"),
        ("/models/tiny/", (), "tiny"),
    ],
)
def test_the_name_says_model_and_range_of_loads(
    model: str, loads: tuple[str, ...], name: str
) -> None:
    assert name_hint(plan(model, loads)) == name


@pytest.mark.parametrize("hint", ["中🙂", "", "../..", "..", "a/b:c d", "-x-", "\udce4", "y" * 999])
def test_any_name_gives_a_plain_ascii_folder_inside(tmp_path: Path, hint: str) -> None:
    folder = create_run_folder(tmp_path, hint)
    assert folder.parent == tmp_path
    assert folder.name.isascii()
    assert len(folder.name) < 120
    assert not folder.name.endswith(("-", "."))


def test_twenty_runs_at_once_get_twenty_folders(tmp_path: Path) -> None:
    with ThreadPoolExecutor(20) as pool:
        folders = list(pool.map(lambda _: create_run_folder(tmp_path / "r", "m"), range(20)))
    assert len(set(folders)) == 20
    assert all(folder.is_dir() for folder in folders)


def test_an_out_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("x")
    with pytest.raises(InputError, match="not a directory") as refused:
        create_run_folder(tmp_path / "results", "m")
    assert "--out" in (refused.value.hint or "")


def test_run_json_comes_back_as_it_was_written(tmp_path: Path) -> None:
    folder = start_run(tmp_path, plan("中🙂"))
    changed = update_run_file(folder, state="interrupted", ended_wall_ns=7)
    assert read_run_file(folder) == changed
    assert changed.plan.target.model == "中🙂"
    assert (changed.state, changed.ended_wall_ns) == ("interrupted", 7)
    assert "中🙂" in (folder / RUN_FILE).read_text(encoding="utf-8")
    assert [path.name for path in folder.iterdir()] == [RUN_FILE]


def test_run_json_is_strict_json_without_nan(tmp_path: Path) -> None:
    limited = msgspec.structs.replace(plan(), max_rate_rps=float("nan"))
    write_run_file(tmp_path, RunFile(plan=limited))

    def refuse(name: str) -> None:
        raise AssertionError(name)

    raw = json.loads((tmp_path / RUN_FILE).read_text(encoding="utf-8"), parse_constant=refuse)
    assert raw["format_version"] == FORMAT_VERSION
    assert raw["plan"]["max_rate_rps"] is None


def test_what_could_not_be_read_back_is_not_written_over_what_can(tmp_path: Path) -> None:
    folder = start_run(tmp_path)
    before = (folder / RUN_FILE).read_bytes()
    broken = msgspec.structs.replace(plan(), prices={"gpus": float("inf")})
    with pytest.raises(LoadgenError, match=r"prices"):
        write_run_file(folder, RunFile(plan=broken))
    assert (folder / RUN_FILE).read_bytes() == before


def test_bytes_of_an_ascii_locale_are_stored_as_what_they_were(tmp_path: Path) -> None:
    smuggled = os.fsencode("中").decode("ascii", "surrogateescape")
    write_run_file(tmp_path, RunFile(plan=plan(f"{smuggled}-\ud83d")))
    assert read_run_file(tmp_path).plan.target.model.startswith("中-")
    assert write_report(tmp_path, "md", f"# {smuggled}").read_text(encoding="utf-8") == "# 中"


@pytest.mark.parametrize(("version", "age"), [(0, "older"), (FORMAT_VERSION + 1, "newer")])
def test_other_format_versions_are_refused_by_name(tmp_path: Path, version: int, age: str) -> None:
    (tmp_path / RUN_FILE).write_text(json.dumps({"format_version": version, "plan": "other"}))
    with pytest.raises(InputError) as refused:
        read_run_file(tmp_path)
    assert f"results of format `{version}` can't be read by this version (reads 1)" in str(
        refused.value
    )
    assert age in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b'{"format_version": 1, "plan": nonsense}', r"byte 31"),
        (b'{"format_version": 1, "pl', r"byte 25"),
        (b"", r"byte 0"),
        (b'{"format_version": 1, "plan": {"run_id": 3}}', r"\$\.plan"),
        (b'{"plan": {}}', r"format_version"),
        (b'{"format_version": 1, "state": "\xff"}', r"byte|state"),
    ],
)
def test_damage_is_named_with_file_and_position(tmp_path: Path, content: bytes, where: str) -> None:
    (tmp_path / RUN_FILE).write_bytes(content)
    with pytest.raises(InputError, match=where) as refused:
        read_run_file(tmp_path)
    assert str(tmp_path / RUN_FILE) in str(refused.value)


def test_unknown_members_are_read_over(tmp_path: Path) -> None:
    folder = start_run(tmp_path)
    raw = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    (folder / RUN_FILE).write_text(json.dumps({**raw, "added_later": [1]}), encoding="utf-8")
    assert isinstance(read_run_file(folder).plan, Plan)


@pytest.mark.parametrize("kind", ["missing", "empty", "file"])
def test_what_is_no_run_is_called_so(tmp_path: Path, kind: str) -> None:
    place = tmp_path / kind
    if kind == "empty":
        place.mkdir()
    if kind == "file":
        place.write_text("x")
    with pytest.raises(InputError, match="is no run: ") as refused:
        read_run_file(place)
    assert refused.value.hint
