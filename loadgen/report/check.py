"""What a check found, as text, markdown, JSON, JUnit XML and annotations of GitHub."""

from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

import msgspec

from loadgen.model.comparison import CheckResult, GateResult
from loadgen.report.figures import NOT_AVAILABLE, format_figure, format_number
from loadgen.report.layout import WIDTH, paragraph, printable

WORDS = {"pass": "pass", "fail": "FAIL", "unknown": "unknown"}
ANNOTATIONS = {"fail": "error", "unknown": "warning"}


def check_text(result: CheckResult) -> Iterator[str]:
    """The answer, then each gate with its figure; grouped by run and point."""
    yield f"  {result.status.upper().ljust(9)} {tally(result)}\n"
    places = list(dict.fromkeys(map(_where, result.gates)))
    gates = sorted(result.gates, key=lambda gate: places.index(_where(gate)))
    name = max((len(gate.gate) for gate in gates), default=0)
    before = None
    for gate in gates:
        where = _where(gate)
        if where != before:
            yield "\n" + "".join(line + "\n" for line in paragraph(where, first="  "))
        before = where
        first = f"    {WORDS[gate.status].ljust(8)} {gate.gate.ljust(name)}  "
        yield from _wrapped(figure_words(gate), first)


def check_md(result: CheckResult) -> Iterator[str]:
    """A table for a pull request."""
    yield f"**{result.status.upper()}**: {tally(result)}\n\n"
    yield "| | gate | figure | where |\n|---|---|---|---|\n"
    for gate in result.gates:
        cells = (WORDS[gate.status], f"`{gate.gate}`", figure_words(gate), _where(gate))
        yield f"| {' | '.join(_cell(cell) for cell in cells)} |\n"


def check_json(result: CheckResult) -> Iterator[str]:
    """Strict JSON of the courtyard's own words."""
    yield msgspec.json.format(msgspec.json.encode(result), indent=2).decode() + "\n"


CHECK_OUTPUTS = {"text": check_text, "md": check_md, "json": check_json}


def junit_xml(result: CheckResult, *, allow_unknown: bool) -> Iterator[str]:
    """One test case a gate; an unknown one is an error, or skipped where it is allowed."""
    fails = sum(gate.status == "fail" for gate in result.gates)
    unknown = sum(gate.status == "unknown" for gate in result.gates)
    errors, skipped = (0, unknown) if allow_unknown else (unknown, 0)
    counts = f'tests="{len(result.gates)}" failures="{fails}" errors="{errors}" skipped="{skipped}"'
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites {counts}>\n  <testsuite name="loadgen check" {counts}>\n'
    for gate in result.gates:
        words = figure_words(gate)
        case = f"classname={_attribute(_where(gate))} name={_attribute(gate.gate)}"
        if gate.status == "pass":
            yield f"    <testcase {case}/>\n"
            continue
        kind = "failure" if gate.status == "fail" else "skipped" if allow_unknown else "error"
        yield f"    <testcase {case}>\n"
        yield f"      <{kind} message={_attribute(words)}/>\n    </testcase>\n"
    yield "  </testsuite>\n</testsuites>\n"


def github_lines(result: CheckResult) -> Iterator[str]:
    """A workflow command for each gate that was missed or could not be told.

    Source: docs.github.com, workflow commands: `%`, CR and LF escaped, `:` and `,` in properties.
    """
    for gate in result.gates:
        kind = ANNOTATIONS.get(gate.status)
        if kind is not None:
            words = f"{gate.gate}: {figure_words(gate)} ({_where(gate)})"
            yield f"::{kind} title=loadgen check::{_escaped(words)}\n"


def tally(result: CheckResult) -> str:
    """`3 of 5 gates met, 1 missed, 1 unknown`."""
    gates = result.gates
    met, missed, unknown = (
        sum(gate.status == status for gate in gates) for status in ("pass", "fail", "unknown")
    )
    words = f"{met} of {len(gates)} gates met"
    words += f", {missed} missed" if missed else ""
    words += f", {unknown} unknown" if unknown else ""
    unsure = sum(gate.status == "pass" and not gate.sure for gate in gates)
    return words + (f"; {unsure} met without certainty" if unsure else "")


def figure_words(gate: GateResult) -> str:
    """`312 ms (288 .. 340, n=740)`, or why there is no figure."""
    if gate.value is None:
        return printable(gate.text)
    value = _shown(gate.value, gate.unit)
    facts = []
    if gate.low is not None and gate.high is not None:
        facts.append(f"{_shown(gate.low, gate.unit, bare=True)} .. {_shown(gate.high, gate.unit)}")
    if gate.n is not None and gate.unit != "change":
        facts.append(f"n={format_number(gate.n)}")
    words = f"{value} ({', '.join(facts)})" if facts else value
    if gate.status == "pass" and not gate.sure:
        words += ", not certain"
    return f"{words}: {printable(gate.text)}" if gate.text else words


def _shown(value: float, unit: str, *, bare: bool = False) -> str:
    """A figure with its unit: times in ms, shares and changes in percent."""
    if unit == "change":
        return f"{value * 100:+.1f}" + ("" if bare else " %")
    scale, shown = {"s": (1000.0, "ms"), "frac": (100.0, "%")}.get(unit, (1.0, unit))
    number = format_figure(value * scale) if value else "0"
    return number if bare or number == NOT_AVAILABLE else f"{number} {shown}"


def _where(gate: GateResult) -> str:
    """The run and the point."""
    return printable(" · ".join(filter(None, (gate.run, gate.point)))) or "all"


def _wrapped(words: str, first: str) -> Iterator[str]:
    """The words after the gate; on a line of their own where the gate is long."""
    if len(first) + len(words) <= WIDTH or len(first) < WIDTH // 2:
        yield from (line + "\n" for line in paragraph(words, first=first, then=" " * 13))
        return
    yield first.rstrip() + "\n"
    yield from (line + "\n" for line in paragraph(words, first=" " * 13))


def _cell(text: str) -> str:
    return printable(text).replace("|", "\\|")


def _attribute(text: str) -> str:
    """A quoted attribute; what XML 1.0 can't hold is gone."""
    return quoteattr("".join(c for c in printable(text) if c not in "\ufffe\uffff"))


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
