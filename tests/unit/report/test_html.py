"""The page: whole markup, nothing that runs or is fetched, every picture with its table."""

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import msgspec
import numpy as np
import pytest

from loadgen.analysis import summarise
from loadgen.analysis.timeline import timeline_of
from loadgen.model.disclosure import DisclosedField, Disclosure, SixthValue
from loadgen.model.series import Telemetry
from loadgen.model.summary import Finding, Summary
from loadgen.model.table import Recording
from loadgen.report.html import format_html, format_html_of_runs
from tests.tables import closed_loop, recording
from tests.unit.report.examples import plan_of, recording_of, sweep_summary
from tests.unit.report.test_screens import EXAMPLES

VOID = {"meta", "br", "img", "hr"}
HOSTILE = "</title><script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202etxet\x1b[2J"


class Page(HTMLParser):
    """Elements with their attributes, texts by element, and what is not closed as it was opened."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.words: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def count(self, name: str) -> int:
        return sum(tag == name for tag, _ in self.elements)

    def values(self, attribute: str) -> list[str]:
        return [value for _, given in self.elements if (value := given.get(attribute)) is not None]

    @property
    def text(self) -> str:
        return " ".join(self.words)


def page_of(summary: Summary, told: Recording) -> Page:
    return Page("".join(format_html(summary, told)))


def measured(points: int = 3) -> tuple[Summary, Recording]:
    calls = [c for p in range(points) for c in closed_loop(2**p, 12, point=p, prompt=64)]
    told = recording(calls, [f"closed:{2**p}" for p in range(points)])
    summary = summarise(told)
    return summary, replace(told, timeline=timeline_of(told, summary))


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_page_is_whole_and_runs_nothing(example: str) -> None:
    page = page_of(*EXAMPLES[example]())
    assert page.wrong == []
    assert page.open == []
    assert page.count("script") == 0
    assert page.count("h1") == 1
    assert not [name for _, given in page.elements for name in given if name.startswith("on")]
    assert all(link.startswith("#") for link in page.values("href") + page.values("src"))


@pytest.mark.parametrize("example", EXAMPLES)
def test_verdict_and_folder_stand_on_every_page(example: str) -> None:
    summary, told = EXAMPLES[example]()
    page = page_of(summary, told)
    assert summary.verdict.upper() in page.text
    assert f"loadgen report {told.path} --format html" in page.text


def test_ids_are_unique_and_every_label_leads_to_one() -> None:
    page = page_of(*measured())
    ids = Counter(page.values("id"))
    assert [name for name, n in ids.items() if n > 1] == []
    named = {word for value in page.values("aria-labelledby") for word in value.split()}
    assert named
    assert named <= set(ids)


def test_every_picture_has_a_title_and_its_figures_as_a_table() -> None:
    markup = "".join(format_html(*measured()))
    figures = re.findall(r"<figure.*?</figure>", markup, re.S)
    assert len(figures) >= 10
    for figure in figures:
        assert re.search(r"<svg[^>]* role=\"img\"", figure)
        assert "<title id=" in figure
        assert re.search(r"<details>.*<tbody><tr>.*</details>", figure, re.S)


def test_no_number_that_is_none_reaches_a_picture() -> None:
    markup = "".join(format_html(*measured()))
    assert not re.search(r'="[^"]*\b(nan|inf|None)\b[^"]*"', markup)


@pytest.mark.parametrize("place", ["model", "detail", "finding", "label", "command"])
def test_hostile_text_is_shown_and_never_obeyed(place: str) -> None:
    summary, told = EXAMPLES["all_failed"]()
    if place == "model":
        target = msgspec.structs.replace(told.plan.target, model=HOSTILE)
        told = replace(told, plan=msgspec.structs.replace(told.plan, target=target))
    elif place == "label":
        told = replace(told, plan=msgspec.structs.replace(told.plan, label=HOSTILE))
    elif place == "detail":
        told.table.detail[0] = HOSTILE
    elif place == "command":
        told = replace(told, provenance=replace(told.provenance, command_line=HOSTILE))
    else:
        found = (Finding("x", "fatal", HOSTILE, HOSTILE),)
        summary = msgspec.structs.replace(summary, findings=found)
    page = page_of(summary, told)
    assert page.count("script") == 0
    assert page.count("img") == 0
    assert page.wrong == []
    assert "<script>alert(1)</script>" in page.text
    assert "\u202e" not in page.text
    assert "\x1b" not in page.text


def test_several_runs_are_laid_over_the_first() -> None:
    first, second = measured(), measured()
    second = (second[0], replace(second[1], path="results/other"))
    page = Page("".join(format_html_of_runs([first, second])))
    assert page.wrong == []
    assert "p50 of other" in page.text
    assert any("others" in kind for kind in page.values("class"))
    assert "loadgen report run results/other --format html" in page.text


def test_the_card_names_what_misses_the_most() -> None:
    fields = (
        DisclosedField("system", "precision", 8.0, "missing", hint="--system FILE"),
        DisclosedField("system", "driver", 1.0, "missing"),
        DisclosedField("model", "name", 5.0, "observed", observed="tiny"),
    )
    six = (SixthValue("ttft", "61 ms at c=1, n=32", "from due", measured=True),)
    summary = msgspec.structs.replace(sweep_summary(), disclosure=Disclosure(84.0, six, fields))
    page = page_of(summary, recording_of(plan_of(["closed:1"])))
    assert "Disclosure 84 of 100" in page.text
    assert "missing: precision, driver" in page.text
    assert "61 ms" in page.words
    assert "at c=1, n=32" in page.words


def test_what_server_and_gpus_said_is_drawn_over_time() -> None:
    summary, told = measured()
    n = 20
    at = np.linspace(0, told.table.done_at_ns.max(), n).astype(np.int64)
    words = {
        name: np.array([value] * n, dtype=object)
        for name, value in (("source", "gpu"), ("origin", "nvml"), ("name", "power_w"))
    }
    parts = np.array(["GPU-a", "GPU-b"] * (n // 2), dtype=object)
    samples = Telemetry(
        at, words["source"], words["origin"], words["name"], parts, np.full(n, 300.0)
    )
    page = page_of(summary, replace(told, telemetry=samples))
    assert "Power" in page.words
    assert {"GPU-a", "GPU-b"} <= set(page.words)
