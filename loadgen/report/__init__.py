"""A summary to text, returned in pieces. No I/O, no metric computed."""

from collections.abc import Callable, Iterable, Sequence

from loadgen.model.summary import Summary
from loadgen.model.table import Recording
from loadgen.report.csv import format_csv
from loadgen.report.html import format_html, format_html_of_runs
from loadgen.report.json import format_json
from loadgen.report.jsonl import format_jsonl
from loadgen.report.md import format_md
from loadgen.report.text import format_text

OUTPUTS: dict[str, Callable[[Summary, Recording], Iterable[str]]] = {
    "text": format_text,
    "json": format_json,
    "jsonl": format_jsonl,
    "csv": format_csv,
    "md": format_md,
    "html": format_html,
}
"""Every output by the name that `--format` takes; pieces are written as they come."""

LISTING = frozenset({"jsonl"})
"""Outputs that want `Recording.request_metrics`."""

DRAWN = frozenset({"html"})
"""Outputs that want `Recording.timeline`."""

TOGETHER: dict[str, Callable[[Sequence[tuple[Summary, Recording]]], Iterable[str]]] = {
    "html": format_html_of_runs,
}
"""Outputs that show several runs on one page; others print them one after the other."""
