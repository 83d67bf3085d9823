from hypothesis import given
from hypothesis import strategies as st

from loadgen.transport.wire.reply import Reply

ANSWERS = (
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello world",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nhello world",
    b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
)


@given(
    answer=st.sampled_from(ANSWERS),
    edits=st.lists(st.tuples(st.integers(0, 120), st.binary(max_size=3)), max_size=4),
    cuts=st.lists(st.integers(0, 120), max_size=6),
)
def test_mutated_answer_never_raises_and_its_columns_agree(
    answer: bytes, edits: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    for at, put in edits:
        answer = answer[:at] + put + answer[at + 1 :]
    reply = Reply()
    edges = sorted({0, len(answer), *(cut for cut in cuts if cut < len(answer))})
    for number, start in enumerate(edges):
        piece = answer[start : edges[number + 1]] if number + 1 < len(edges) else b""
        if piece and not reply.ended:
            reply.take(piece, number, number)
    reply.end(99, "closed")
    reply.forget_parser()
    assert reply.ended
    assert len(reply.marks) == len(reply.read_at_ns) == len(reply.seen_at_ns)
    assert (reply.marks[-1] if reply.marks else 0) == len(reply.parts)
    assert list(reply.marks) == sorted(reply.marks)
    assert reply.complete or reply.detail
