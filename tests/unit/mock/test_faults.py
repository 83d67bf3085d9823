import pytest

from loadgen.mock.faults import KINDS, FaultError, draw_faults, parse_fault


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_read_with_its_defaults(kind: str) -> None:
    fault = parse_fault(kind)
    assert fault.kind == kind
    assert fault.number("p") == 1


def test_members_replace_defaults() -> None:
    fault = parse_fault("stall:after=3,ms=500,p=0.25")
    assert (fault.count("after"), fault.number("ms"), fault.number("p")) == (3, 500, 0.25)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stal", "unknown kind `stal`"),
        ("stall:often=3", "`often=3`: expected member=value"),
        ("stall:after=x", "after: `x`: expected a number"),
        ("stall:p=2", "p: `2`: expected 0 to 1"),
        ("truncate:how=fast", "expected one of `clean`, `eof`"),
    ],
)
def test_a_wrong_switch_is_refused_with_what_was_expected(text: str, words: str) -> None:
    with pytest.raises(FaultError, match=words.replace("`", ".")):
        parse_fault(text)


def test_the_share_is_kept_and_repeatable() -> None:
    switches = [parse_fault("reset:p=0.2")]
    hits = [bool(draw_faults(switches, 7, number, 0.0)) for number in range(2000)]
    assert 340 < sum(hits) < 460
    assert hits == [bool(draw_faults(switches, 7, number, 0.0)) for number in range(2000)]


def test_first_and_for_s_limit_a_switch() -> None:
    switches = [parse_fault("status:first=2"), parse_fault("no_done:for_s=5")]
    assert [f.kind for f in draw_faults(switches, 1, 1, 1.0)] == ["status", "no_done"]
    assert draw_faults(switches, 1, 2, 6.0) == []
