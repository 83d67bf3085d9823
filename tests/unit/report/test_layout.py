"""Words on a page of fixed width."""

from loadgen.report.layout import WIDTH, Block, flow, paragraph, printable, side_by_side


def test_control_characters_become_blanks() -> None:
    assert printable("a\x1b[2Jb\rc\nd\u2028e\x9bf") == "a [2Jb c d e f"


def test_facts_break_between_facts_only() -> None:
    facts = ["x" * 45, "y" * 45, "z" * 45]
    assert flow(facts, then="  ") == [f"{facts[0]} · {facts[1]}", f"  {facts[2]}"]
    assert flow([]) == []


def test_paragraphs_never_break_a_path() -> None:
    path = "/a" * 80
    assert any(path in line for line in paragraph(f"see {path} for more", first="  "))


def block(heading: str, cells: int, width: int) -> Block:
    rows = tuple(("9" * width,) * cells for _ in range(2))
    return Block(heading, tuple("t" * cells), rows)


def test_blocks_that_do_not_fit_follow_below_with_the_key_column() -> None:
    lines = side_by_side([block("", 1, 3), block("one", 4, 12), block("two", 4, 12)])
    assert max(map(len, lines)) <= WIDTH
    assert lines[4] == ""
    assert sum("one" in line or "two" in line for line in lines) == 2
    assert sum(line.startswith("  999  ") for line in lines) == 4


def test_long_headings_widen_their_block() -> None:
    lines = block("a heading longer than its cells", 1, 2).lines()
    assert {len(line) for line in lines} == {len("a heading longer than its cells")}


def test_no_block_gives_no_line() -> None:
    assert side_by_side([]) == []
