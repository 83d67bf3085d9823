"""The event stream format by the letter: line ends, byte order mark, multi-line data, offsets."""

from collections.abc import Callable

import pytest

from loadgen.transport.decoding.sse import Framed, looks_like_sse, split_events, split_lines


def as_tuple(framed: Framed) -> tuple[list[bytes], list[int], dict[int, str], int]:
    return framed.payloads, framed.ends, framed.names, framed.comments


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("split", [split_events, split_lines])
def test_all_three_line_ends_split_alike(line_end: bytes, split: Callable[[bytes], Framed]) -> None:
    body = b"data: a||data: b||".replace(b"|", line_end)
    framed = split(body)
    assert framed.payloads == [b"a", b"b"]
    assert [body[end - 1 : end] for end in framed.ends] == [b"a", b"b"]


def test_byte_order_mark_is_dropped() -> None:
    framed = split_events(b"\xef\xbb\xbfdata: a\n\n")
    assert framed.payloads == [b"a"]
    assert framed.ends == [10]


def test_data_lines_of_one_event_join_by_a_line_feed() -> None:
    assert split_events(b"data: a\ndata: b\n\n").payloads == [b"a\nb"]


def test_exactly_one_leading_space_is_dropped() -> None:
    assert split_lines(b"data:a\n\ndata: a\n\ndata:  a\n\n").payloads == [b"a", b"a", b" a"]


def test_event_names_belong_to_their_event_only() -> None:
    framed = split_events(b"event: error\ndata: a\n\ndata: b\n\n")
    assert framed.names == {0: "error"}


def test_last_event_needs_no_blank_line() -> None:
    framed = split_events(b"data: a\n\ndata: b")
    assert framed.payloads == [b"a", b"b"]
    assert framed.cut_inside
    assert not split_events(b"data: a\n\ndata: b\n").cut_inside


def test_comments_and_unknown_fields_make_no_event() -> None:
    framed = split_events(b": hi\n\nid: 1\nretry: 5\n\nfoo: bar\n\ndata\n\n")
    assert framed.payloads == []
    assert framed.comments == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"data: a\n\n",
        b"data: a\n\ndata: b\n\ndata: [DONE]\n\n",
        b"data: a\n\n\ndata: b\n\n",
        b"data: a\n\n: x\n\ndata: b\n\n",
        b"data: a\ndata: b\n\n",
        b"data:  a\n\ndata:b\n\n",
        b"data: a\n\nevent: x\ndata: b\n\n",
        b"data: \n\ndata: b\n\n",
        b"data: a\r\n\r\ndata: b\n\n",
    ],
)
def test_quick_and_literal_splitting_agree(body: bytes) -> None:
    assert as_tuple(split_events(body)) == as_tuple(split_lines(body))


@pytest.mark.parametrize(
    ("body", "sse"),
    [
        (b"data: x", True),
        (b"\xef\xbb\xbf\n\ndata:x", True),
        (b": ping\n", True),
        (b"event: error\n", True),
        (b'{"data": 1}', False),
        (b"<html>", False),
        (b"database down", False),
        (b"", False),
    ],
)
def test_stream_is_known_by_its_first_line(body: bytes, sse: bool) -> None:
    assert looks_like_sse(body) is sse
