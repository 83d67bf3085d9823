import pytest

from loadgen.transport.wire.reply import Reply

CHUNKED = (
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
)
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world"
INTERIM = b"HTTP/1.1 100 Continue\r\nx-a: b\r\n\r\n" + LENGTH
UNTIL_EOF = b"HTTP/1.1 200 OK\r\n\r\nhello world"


def fed(*reads: bytes) -> Reply:
    """A reply after these reads, a nanosecond apart."""
    reply = Reply()
    reply.sent_at_ns = reply.written_at_ns = 0
    for number, read in enumerate(reads):
        reply.take(read, number, number + 100)
    return reply


@pytest.mark.parametrize("answer", [CHUNKED, LENGTH, INTERIM], ids=["chunked", "length", "interim"])
def test_answer_split_anywhere_is_the_same_answer(answer: bytes) -> None:
    for cut in range(1, len(answer)):
        reply = fed(answer[:cut], answer[cut:])
        assert b"".join(reply.parts) == b"hello world"
        assert (reply.status, reply.complete, reply.is_reusable) == (200, True, True)
        assert reply.marks[-1] == len(reply.parts)


@pytest.mark.parametrize("answer", [CHUNKED, LENGTH, INTERIM], ids=["chunked", "length", "interim"])
def test_answer_byte_by_byte_is_the_same_answer(answer: bytes) -> None:
    reply = fed(*(answer[at : at + 1] for at in range(len(answer))))
    assert b"".join(reply.parts) == b"hello world"
    assert reply.complete
    assert reply.done_at_ns == len(answer) - 1


def test_interim_answer_leaves_no_trace() -> None:
    reply = fed(INTERIM)
    assert reply.status == 200
    assert [name for name, _ in reply.headers] == [b"Content-Length"]


def test_headers_and_parts_bear_the_stamp_of_their_read() -> None:
    reply = fed(CHUNKED[:20], CHUNKED[20:60], CHUNKED[60:])
    assert reply.headers_at_ns == 1
    assert list(reply.read_at_ns) == [0, 1, 2]
    assert list(reply.seen_at_ns) == [100, 101, 102]


def test_body_without_a_length_ends_with_the_connection() -> None:
    reply = fed(UNTIL_EOF)
    assert not reply.ended
    reply.end(7, "connection closed by the server")
    assert (reply.complete, reply.is_reusable, reply.done_at_ns) == (True, False, 7)


def test_reset_breaks_even_a_body_without_a_length() -> None:
    reply = fed(UNTIL_EOF)
    reply.end(7, "connection reset by the server", by_reset=True)
    assert not reply.complete
    assert reply.detail == "connection reset by the server after 11 body bytes"


@pytest.mark.parametrize(
    ("came", "detail"),
    [
        (b"", "closed before any byte of an answer"),
        (b"HTTP/1.1 200 OK\r\nx", "closed within the headers"),
        (CHUNKED[:-5], "closed after 11 body bytes"),
        (LENGTH[:-3], "closed after 8 body bytes"),
    ],
)
def test_half_an_answer_is_not_complete_and_says_where_it_broke(came: bytes, detail: str) -> None:
    reply = fed(came) if came else Reply()
    reply.end(9, "closed")
    assert not reply.complete
    assert reply.detail == detail


def test_answer_without_a_body_is_complete_with_its_headers() -> None:
    reply = fed(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert (reply.status, reply.complete, reply.is_reusable) == (204, True, True)


def test_connection_close_is_obeyed() -> None:
    reply = fed(LENGTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert reply.complete
    assert not reply.is_reusable


def test_old_http_does_not_keep_the_connection() -> None:
    assert not fed(LENGTH.replace(b"HTTP/1.1", b"HTTP/1.0")).is_reusable


@pytest.mark.parametrize("surplus", [b"x", LENGTH, b"\0\0"])
def test_surplus_bytes_spoil_the_connection_and_not_the_answer(surplus: bytes) -> None:
    reply = fed(LENGTH + surplus)
    assert b"".join(reply.parts) == b"hello world"
    assert reply.complete
    assert not reply.is_reusable


def test_trailers_are_not_taken_for_headers() -> None:
    reply = fed(CHUNKED[:-2] + b"x-checksum: 1\r\n\r\n")
    assert reply.complete
    assert [name for name, _ in reply.headers] == [b"transfer-encoding"]


@pytest.mark.parametrize("came", [b"\0\0\x12\x04", b"SSH-2.0-x\r\n", CHUNKED[:49] + b"zz\r\n"])
def test_what_is_no_http_ends_the_reply_with_words(came: bytes) -> None:
    reply = fed(came)
    assert reply.ended
    assert reply.is_bad_http
    assert not reply.complete
    assert reply.detail.startswith("not a valid HTTP/1.1 answer")


def test_answer_to_head_ends_with_its_headers() -> None:
    reply = Reply(headers_only=True)
    assert reply.take(LENGTH[:-11], 0, 0)
    assert reply.complete


def test_switch_to_another_protocol_ends_the_reply_with_words() -> None:
    switch = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n\0\0"
    reply = fed(switch)
    assert reply.ended
    assert not reply.complete
    assert not reply.is_reusable
    assert "another protocol" in reply.detail
