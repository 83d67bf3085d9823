"""docs/results-format.md names every file, column and member, in order, with its type."""

import re
from pathlib import Path

import pytest

from loadgen.store import folder
from loadgen.store.folder import FORMAT_VERSION, RunFile
from loadgen.store.requests import GROUP_EVENTS_MAX, GROUP_ROWS_MAX
from loadgen.store.schema import arrow_schema
from loadgen.store.segments import SegmentWriter
from tests.stored_records import record

DOCS = Path(__file__).parents[3] / "docs" / "results-format.md"


def section(title: str) -> str:
    text = DOCS.read_text(encoding="utf-8")
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


def test_every_column_is_described_with_its_type_and_no_other() -> None:
    described = re.findall(
        r"^\| `(\w+)` \| ([\w ]+) \|.*\| .+ \|$", section("`requests.parquet`"), re.M
    )
    stored = [
        (field.name, f"list of {field.type.value_type}")
        if str(field.type).startswith("list")
        else (field.name, str(field.type))
        for field in arrow_schema()
    ]
    assert described == stored


def test_every_column_of_nanoseconds_says_so() -> None:
    for name, unit in re.findall(
        r"^\| `(\w+)` \| [\w ]+ \| (\w*) ?\|", section("`requests.parquet`"), re.M
    ):
        assert (unit == "ns") == name.endswith("_ns"), name
        assert (unit == "tokens") == name.endswith("_tok"), name
        assert (unit == "bytes") == name.endswith("_bytes"), name


def test_every_member_of_run_json_is_described() -> None:
    rows = re.findall(r"^\| (`[^|]+`) \|", section("`run.json`"), re.M)
    assert re.findall(r"`(\w+)`", " ".join(rows)) == list(RunFile.__struct_fields__)


@pytest.mark.parametrize(
    "name",
    [value for name, value in vars(folder).items() if name.endswith(("_FILE", "_FOLDER"))],
)
def test_every_file_of_the_folder_is_named(name: str) -> None:
    assert f"`{name}" in DOCS.read_text(encoding="utf-8")


def test_the_name_of_a_segment_is_the_documented_one(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, 3)
    writer.append(record(0))
    writer.close()
    assert writer.path.relative_to(tmp_path) == Path("segments/share-003-000.arrows")
    assert "`segments/share-SSS-NNN.arrows`" in DOCS.read_text(encoding="utf-8")


def test_versions_and_limits_are_the_documented_ones() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert f"Format version **{FORMAT_VERSION}**" in text
    assert f"{GROUP_ROWS_MAX:,} rows" in text
    assert f"{GROUP_EVENTS_MAX:,} events" in text
