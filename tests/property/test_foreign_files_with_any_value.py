"""Whatever stands in one place of another tool's file, it is read or refused with that place."""

import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadgen.errors import InputError
from loadgen.review import by_rules, review
from tests.unit.foreign_results import AIPERF, FOREIGN, VLLM

FILES: dict[str, Any] = {
    "vllm": msgspec.json.decode(VLLM.read_bytes()),
    "aiperf": [msgspec.json.decode(line) for line in AIPERF.read_bytes().splitlines()],
    "guidellm": msgspec.json.decode(gzip.decompress((FOREIGN / "guidellm.json.gz").read_bytes())),
}
SKIPPED = {"metrics", "config", "warnings", "request_args", "generated_texts"}
"""Parts of which only few values are read."""

anything = st.one_of(
    st.none(), st.booleans(), st.text(max_size=4), st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False), st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=1),
)  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of the value but the root."""
    steps = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for step, inner in steps:
        if step in SKIPPED and "info" not in at:
            continue
        found.append((*at, step))
        if isinstance(inner, dict | list):
            found += places(inner, (*at, step))
    return found


PLACES = {name: places(value) for name, value in FILES.items()}


@pytest.mark.parametrize("tool", sorted(FILES))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_file_with_any_value_anywhere_is_read_or_refused(
    tool: str, data: st.DataObject, tmp_path: Path
) -> None:
    content = msgspec.json.decode(msgspec.json.encode(FILES[tool]))
    place = data.draw(st.sampled_from(PLACES[tool]))
    holder = content
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = data.draw(anything)
    path = tmp_path / "profile_export.jsonl"
    lines = content if tool == "aiperf" else [content]
    path.write_bytes(b"\n".join(msgspec.json.encode(line) for line in lines))

    said = path.name
    try:
        review(path)
        by_rules(path, tool)
    except InputError as refused:
        said = str(refused)
    assert path.name in said
