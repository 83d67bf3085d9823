"""Which row of a table a name means: what servers, drivers and users call GPUs and models."""

import re
from collections.abc import Mapping
from typing import TypeVar

Row = TypeVar("Row")

PRECISION = re.compile(r"[-_.](nvfp4|mxfp4|fp4|fp8|int4|int8|w4a16|w8a8|awq|gptq|bf16)\b.*$")
"""Endings that say how weights were stored: the same model to an API's price list."""


def row_of(rows: Mapping[str, Row], name: str) -> Row | None:
    """The row whose key is a word of the name: `H200` of `NVIDIA H200 141GB`; None without one."""
    if name in rows:
        return rows[name]
    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    return next((row for key, row in rows.items() if key.lower() in words), None)


def plain_model(name: str) -> str:
    """The model's name without owner, case, marks and stored precision."""
    bare = PRECISION.sub("", name.rpartition("/")[2].lower())
    return re.sub(r"[^a-z0-9]", "", bare)
