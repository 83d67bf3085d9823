"""Law: any text is either read or refused with a caret under a part of it; nothing else happens."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import UsageError
from loadgen.specs import parse_counts, parse_duration_ns, parse_rate_rps, parse_spec, parse_tokens
from loadgen.workload import FORMATS
from loadgen.workload.lengths import GAPS, LENGTHS

SPECS = {name: made.options for name, made in FORMATS.items()}
NAMES = [*LENGTHS, *GAPS, *SPECS]
PIECES = st.sampled_from(
    [*NAMES, "isl", "sd", "low", ":", ",", "=", "'", '"', "..", " ", "k", "/s"]
)
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=30),
    st.lists(st.one_of(PIECES, st.integers(-5, 10**6).map(str)), max_size=8).map("".join),
)


def read(text: str, table: dict[str, type]) -> object:
    return parse_spec(text, table)


@pytest.mark.parametrize(
    "parse",
    [
        parse_counts,
        parse_duration_ns,
        parse_rate_rps,
        parse_tokens,
        lambda text: read(text, dict(LENGTHS)),
        lambda text: read(text, dict(GAPS)),
        lambda text: read(text, SPECS),
    ],
)
@given(TEXTS)
def test_every_text_is_read_or_pointed_at(parse: Callable[[str], object], text: str) -> None:
    try:
        parse(text)
    except UsageError as error:
        shown, carets = str(error).split("\n")[-2:]
        assert shown == f"  {text}"
        assert set(carets.strip()) == {"^"}
