from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from msgspec import Struct

from loadgen.errors import InputError, UsageError
from loadgen.specs import (
    load_yaml,
    parse_counts,
    parse_duration_ns,
    parse_rate_rps,
    parse_spec,
    parse_tokens,
)


@dataclass(frozen=True)
class Closed:
    slots: int
    think_ns: int = 0

    def __post_init__(self) -> None:
        if self.slots < 1:
            raise ValueError("slots must be at least 1")


class Poisson(Struct, frozen=True):
    rate_rps: float
    burst: float | None = None
    mode: Literal["open", "shut"] = "open"
    strict: bool = False


@dataclass(frozen=True)
class Uniform:
    low_tok: int
    high_tok: int


@dataclass(frozen=True)
class File:
    path: str
    once: bool = False


@dataclass(frozen=True)
class Nothing:
    pass


class Rooms(Struct):
    rooms: dict[str, dict[str, list[int]]]


TABLE: dict[str, type] = {
    "closed": Closed,
    "poisson": Poisson,
    "uniform": Uniform,
    "chat": File,
    "nothing": Nothing,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("closed:16", Closed(16)),
        ("closed:16,think=2s", Closed(16, 2_000_000_000)),
        ("closed: slots=16 , think_ns=500ms", Closed(16, 500_000_000)),
        ("poisson:rate=4/s", Poisson(4.0)),
        ("poisson:120/min,burst=0.5,mode=shut,strict=yes", Poisson(2.0, 0.5, "shut", True)),
        ("uniform:512,8k", Uniform(512, 8192)),
        ("chat:/data/a=b:c.jsonl", File("/data/a=b:c.jsonl")),
        ("chat:'a,b.jsonl',once=true", File("a,b.jsonl", True)),
        ("nothing", Nothing()),
    ],
)
def test_a_spec_fills_the_fields_by_order_and_by_key(text: str, value: object) -> None:
    assert parse_spec(text, TABLE) == value


@pytest.mark.parametrize(
    ("text", "under", "says", "hint"),
    [
        ("closd:16", "closd", "unknown name `closd`", "did you mean `closed`? known: closed, p"),
        ("closed:16,thnk=2s", "thnk", "`closed` has no `thnk`", "did you mean `think`?"),
        ("closed:sixteen", "sixteen", "a whole number was expected", ""),
        ("closed:16,think=2x", "2x", "a duration was expected", ""),
        ("closed:0", "0", "slots must be at least 1", ""),
        ("closed:16,2s,3", "3", "one value too many", "`closed` takes slots, [think]"),
        ("closed:16,slots=3", "slots=3", "`slots` is given twice", ""),
        ("closed:think=2s,16", "16", "`16` stands alone after keys", ""),
        ("closed", "", "`closed` needs `slots`", "`closed` takes slots, [think]"),
        ("closed:", "", "a value is missing here", ""),
        ("poisson:rate=0/s", "0/s", "a rate above 0 was expected", ""),
        ("poisson:4,burst=nan", "nan", "a number was expected", ""),
        ("poisson:4,mode=opne", "opne", "did you mean `open`? expected open | shut", ""),
        ("uniform:0.3,5", "0.3", "a whole number of tokens was expected", ""),
        ("nothing:5", "5", "one value too many", "`nothing` takes no values"),
    ],
)
def test_a_wrong_spec_is_pointed_at(text: str, under: str, says: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_spec(text, TABLE)
    message, _, picture = str(caught.value).partition("\n\n")
    shown, carets = picture.split("\n")
    start = carets.index("^")
    assert says in message
    assert shown[start : start + carets.count("^")] == under
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("60s", 60_000_000_000),
        ("500ms", 500_000_000),
        ("2m", 120_000_000_000),
        ("1m30s", 90_000_000_000),
        ("1h", 3_600_000_000_000),
        ("0.5", 500_000_000),
        ("0", 0),
        ("15us", 15_000),
        (" 7ns ", 7),
    ],
)
def test_durations_come_as_nanoseconds(text: str, ns: int) -> None:
    assert parse_duration_ns(text) == ns


@pytest.mark.parametrize("text", ["", "s", "-1s", "1 s", "1d", "1e400", "9" * 400, "5s!"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="a duration was expected"):
        parse_duration_ns(text)


@pytest.mark.parametrize(
    ("text", "rps"), [("4/s", 4), ("120/min", 2), ("900/h", 0.25), (".5", 0.5), ("3rps", 3)]
)
def test_rates_come_per_second(text: str, rps: float) -> None:
    assert parse_rate_rps(text) == rps


@pytest.mark.parametrize(
    ("text", "tok"), [("512", 512), ("8k", 8192), ("1.5K", 1536), ("1m", 2**20)]
)
def test_k_means_1024_tokens(text: str, tok: int) -> None:
    assert parse_tokens(text) == tok


@pytest.mark.parametrize("text", ["", "0.1", "x", "9" * 30, "-4", "1 k"])
def test_what_is_no_token_count_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="a whole number of tokens"):
        parse_tokens(text)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("1,2,4,8", (1, 2, 4, 8)),
        ("1..64", (1, 2, 4, 8, 16, 32, 64)),
        ("1..100", (1, 2, 4, 8, 16, 32, 64, 100)),
        ("3..20", (3, 6, 12, 20)),
        ("1..5:1", (1, 2, 3, 4, 5)),
        ("8..30:8", (8, 16, 24, 30)),
        ("1, 4..16,64", (1, 4, 8, 16, 64)),
        ("7", (7,)),
        ("4,4", (4, 4)),
    ],
)
def test_counts_are_lists_doublings_and_steps(text: str, counts: tuple[int, ...]) -> None:
    assert parse_counts(text) == counts


@pytest.mark.parametrize("text", ["", "0", "1,,2", "a", "8..1", "1..8:0", "-1", "1..1000000:1"])
def test_what_is_no_list_of_counts_is_refused_with_a_caret(text: str) -> None:
    with pytest.raises(UsageError, match=r"\^"):
        parse_counts(text)


class Inner(Struct, forbid_unknown_fields=True):
    load: str


class Config(Struct, forbid_unknown_fields=True):
    name: str
    points: list[Inner] = []


def test_a_yaml_file_comes_typed(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("name: größe\npoints:\n- load: closed:1\n", encoding="utf-8")
    assert load_yaml(path, Config) == Config("größe", [Inner("closed:1")])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"name: 7\n", ["c.yaml:1`", "`$.name`", "a text was expected", "the value is 7"]),
        (b"name: x\npoints:\n- load: a\n- load: 5\n", ["c.yaml:4`", "`$.points[1].load`", " 5"]),
        (b"name: x\npints: []\n", ["unknown field `pints`"]),
        (b"- a\n", ["an object with members was expected"]),
        (b"", ["c.yaml`", "the value is None"]),
        (b"name: [\n", ["c.yaml:2"]),
        (b"name: \xff\n", ["not UTF-8 at byte 6"]),
    ],
)
def test_a_wrong_yaml_file_is_refused_by_place(
    tmp_path: Path, content: bytes, says: list[str]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_yaml(path, Config)
    assert all(words in str(caught.value) for words in says), str(caught.value)


def test_the_key_of_a_mapping_is_named_where_the_library_leaves_it_out(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("rooms:\n  a: {x.y: [1, 2]}\n  b:\n    c: [3]\n    d: [4, five]\n")
    with pytest.raises(InputError) as caught:
        load_yaml(path, Rooms)
    assert "c.yaml:5`" in str(caught.value)
    assert "`$.rooms.b.d[1]`" in str(caught.value)
    assert "'five'" in str(caught.value)


def test_an_unknown_yaml_key_gets_a_near_match(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("name: x\npints: []\n")
    with pytest.raises(InputError) as caught:
        load_yaml(path, Config)
    assert caught.value.hint == "did you mean `points`? known: name, points"


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_yaml(tmp_path / "none.yaml", Config)
