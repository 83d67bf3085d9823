import gc
import gzip
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest

from loadgen.errors import InputError
from loadgen.workload.corpus import Corpus

LINES = b'{"a":1}\n\n  \n{"a":2}\r\n{"a":3}'


def zst(text: bytes) -> bytes:
    return bytes(pyarrow.compress(text, codec="zstd", asbytes=True))


PACKED: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zst}


def documents(corpus: Corpus) -> list[bytes]:
    return [corpus.document(number).strip() for number in range(len(corpus))]


@pytest.mark.parametrize("packing", PACKED)
def test_lines_are_documents_and_blank_ones_are_none(tmp_path: Path, packing: str) -> None:
    path = tmp_path / f"traces.jsonl{packing}"
    path.write_bytes(PACKED[packing](LINES))
    corpus = Corpus(path)
    assert documents(corpus) == [b'{"a":1}', b'{"a":2}', b'{"a":3}']
    assert [corpus.where(number) for number in range(3)] == [f"{path}:{at}" for at in (1, 4, 5)]


@pytest.mark.parametrize("packing", PACKED)
def test_a_json_file_is_one_document_however_many_lines_it_has(
    tmp_path: Path, packing: str
) -> None:
    path = tmp_path / f"trace.json{packing}"
    path.write_bytes(PACKED[packing](b'{\n"a":1\n}\n'))
    corpus = Corpus(path)
    assert documents(corpus) == [b'{\n"a":1\n}']
    assert corpus.where(0) == str(path)


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("ending", [".json", ".jsonl"])
def test_a_byte_order_mark_is_no_part_of_the_first_document(
    tmp_path: Path, packing: str, ending: str
) -> None:
    path = tmp_path / f"t{ending}{packing}"
    path.write_bytes(PACKED[packing](b"\xef\xbb\xbf{}"))
    assert documents(Corpus(path)) == [b"{}"]


@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_files_packed_in_several_parts_are_read_to_their_end(tmp_path: Path, packing: str) -> None:
    path = tmp_path / f"t.jsonl{packing}"
    path.write_bytes(PACKED[packing](b'{"a":1}\n') + PACKED[packing](b'{"a":2}\n'))
    assert documents(Corpus(path)) == [b'{"a":1}', b'{"a":2}']


def test_a_folder_holds_all_its_trace_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(b"1")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b"2\n3\n"))
    (tmp_path / "a.json.zst").write_bytes(zst(b"4"))
    (tmp_path / "a.jsonl").write_bytes(b"5\n6\n")
    for other in ("README.md", ".hidden.json", "LICENSE", "trace.json.bak", "x.csv.gz"):
        (tmp_path / other).write_bytes(b"no trace")
    (tmp_path / "folder.json").mkdir()
    corpus = Corpus(tmp_path)
    assert documents(corpus) == [b"4", b"5", b"6", b"2", b"3", b"1"]
    assert corpus.where(4) == f"{tmp_path / 'b.jsonl.gz'}:2"


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or directory"):
        Corpus(tmp_path / "nothing.json")


@pytest.mark.parametrize("name", ["traces.csv", "traces.txt.gz", "traces"])
def test_a_file_of_another_kind_is_refused_with_the_known_endings(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(InputError) as refused:
        Corpus(tmp_path / name)
    assert refused.value.hint is not None
    assert "`.jsonl`" in refused.value.hint


def test_a_folder_or_file_with_nothing_in_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no trace file"):
        Corpus(tmp_path)
    (tmp_path / "t.jsonl").write_bytes(b"\n \n")
    with pytest.raises(InputError, match="holds no trace"):
        Corpus(tmp_path)


@pytest.mark.parametrize("packing", [".gz", ".zst"])
@pytest.mark.parametrize("damage", ["cut", "other"])
def test_damaged_packing_is_refused_with_the_files_name(
    tmp_path: Path, packing: str, damage: str
) -> None:
    whole = PACKED[packing](bytes(range(256)) * 40)
    for name in (f"t.jsonl{packing}", f"t.json{packing}"):
        (tmp_path / name).write_bytes(whole[: len(whole) // 2] if damage == "cut" else b"{}" * 40)
        with pytest.raises(InputError, match=name):
            Corpus(tmp_path / name).document(0)


@pytest.mark.parametrize("packing", PACKED)
def test_threads_may_ask_at_the_same_time(tmp_path: Path, packing: str) -> None:
    path = tmp_path / f"t.jsonl{packing}"
    path.write_bytes(PACKED[packing](b"".join(b"%d\n" % number for number in range(500))))
    corpus = Corpus(path)
    wrong: list[int] = []

    def ask(first: int) -> None:
        asked = range(first, 500, 4)
        wrong.extend(at for at in asked if corpus.document(at).strip() != b"%d" % at)

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("packing", PACKED)
def test_a_corpus_far_larger_than_its_index_is_never_held(tmp_path: Path, packing: str) -> None:
    line = b'{"a":"' + b"x" * 100_000 + b'"}\n'
    path = tmp_path / f"t.jsonl{packing}"
    with gzip.open(path, "wb", 1) if packing == ".gz" else path.open("wb") as file:
        file.write(zst(line * 300) if packing == ".zst" else line * 300)
    gc.collect()
    tracemalloc.start()
    try:
        corpus = Corpus(path)
        lengths = {len(corpus.document(number)) for number in range(len(corpus))}
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(corpus) == 300
    assert lengths == {len(line)}
    assert peak < 8_000_000
