"""However a segment file ends, everything up to its last whole batch is read, without a fuss."""

import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from loadgen.model.record import Record
from loadgen.store.segments import Segment, read_segment, segment_paths
from loadgen.store.tables import read_table
from tests.stored_records import record, write_segment

SIZES = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 4)), min_size=1, max_size=4)


def batches_of(sizes: list[tuple[int, int]]) -> list[list[Record]]:
    return [
        [record(100 * number + row, n_events=n_events) for row in range(rows)]
        for number, (rows, n_events) in enumerate(sizes)
    ]


def rows_of(segment: Segment) -> int:
    return sum(len(batch) for batch in segment.batches)


@settings(max_examples=150, deadline=None)
@given(SIZES, st.floats(0, 1))
@example([(2, 3), (1, 0)], 0.0)
@example([(2, 3), (1, 0)], 1.0)
def test_a_cut_loses_the_cut_batch_only(sizes: list[tuple[int, int]], cut_at: float) -> None:
    with tempfile.TemporaryDirectory() as name:
        ends = write_segment(Path(name), batches_of(sizes))
        path = segment_paths(Path(name))[0]
        content = path.read_bytes()
        cut = round(cut_at * len(content))
        path.write_bytes(content[:cut])
        segment = read_segment(path)
        whole = [rows for (rows, _), end in zip(sizes, ends, strict=True) if end <= cut]
        assert rows_of(segment) == sum(whole)
        assert segment.truncated == (cut not in ends and cut != len(content))
        assert len(read_table(Path(name))) == sum(whole)


@settings(max_examples=100, deadline=None)
@given(SIZES, st.binary(min_size=1, max_size=300), st.booleans())
@example([(1, 1)], b"\x00" * 64, False)
@example([(1, 1)], b"\xff\xff\xff\xff\xff\xff\xff\x7f", False)
def test_garbage_behind_whole_batches_takes_nothing_away(
    sizes: list[tuple[int, int]], tail: bytes, closed: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        ends = write_segment(Path(name), batches_of(sizes))
        path = segment_paths(Path(name))[0]
        content = path.read_bytes()
        path.write_bytes((content if closed else content[: ends[-1]]) + tail)
        segment = read_segment(path)
        assert rows_of(segment) == sum(rows for rows, _ in sizes)
        assert segment.truncated or not closed


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1),
    st.integers(1, 3),
)
def test_a_batch_written_over_with_anything_spares_those_before(
    changes: list[tuple[float, int]], spared: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        sizes = [(3, 2)] * 3
        ends = write_segment(Path(name), batches_of(sizes))
        path = segment_paths(Path(name))[0]
        content = bytearray(path.read_bytes())
        first = ends[spared - 1]
        for place, value in changes:
            content[first + int(place * (len(content) - first))] = value
        path.write_bytes(content)
        assert rows_of(read_segment(path)) >= 3 * spared
