from xml.etree import ElementTree

from loadgen.analysis.comparison.gates import checked
from loadgen.model.comparison import GateResult
from loadgen.report.check import check_json, check_md, check_text, github_lines, junit_xml

GATES = [
    GateResult(
        "ttft.p99<500ms", "pass", "", "results/a", "closed:1", 0.3, 0.5, "s", 0.2, 0.4, 300, True
    ),
    GateResult("error_frac<1%", "fail", "", "results/a", "closed:1", 0.5, 0.01, "frac", n=300),
    GateResult("ttft.p99<500ms", "unknown", "n=48 < 299", "results/a", "closed:8"),
    GateResult(
        "out_tps not 3% worse", "fail", "", "", "closed:8", -0.1, 0.03, "change", -0.2, -0.05
    ),
]
RESULT = checked(GATES)


def test_the_screen_leads_with_the_answer_and_groups_by_point() -> None:
    text = "".join(check_text(RESULT))
    lines = text.splitlines()
    assert lines[0] == "  FAIL      1 of 4 gates met, 2 missed, 1 unknown"
    assert "300 ms (200 .. 400 ms, n=300)" in text
    assert "FAIL     error_frac<1%" in text
    assert "n=48 < 299" in text
    assert "-10.0 % (-20.0 .. -5.0 %)" in text
    assert sum(line == "  results/a · closed:1" for line in lines) == 1
    assert max(map(len, lines)) <= 100


def test_markdown_is_one_table() -> None:
    rows = [line for line in "".join(check_md(RESULT)).splitlines() if line.startswith("|")]
    assert len(rows) == 6
    assert {row.count("|") for row in rows} == {5}


def test_junit_counts_and_tells_failures_and_unknowns() -> None:
    root = ElementTree.fromstring("".join(junit_xml(RESULT, allow_unknown=False)))
    assert root.attrib == {"tests": "4", "failures": "2", "errors": "1", "skipped": "0"}
    (error,) = root.iter("error")
    assert error.attrib["message"] == "n=48 < 299"
    allowed = ElementTree.fromstring("".join(junit_xml(RESULT, allow_unknown=True)))
    assert allowed.attrib["skipped"] == "1"
    assert not list(allowed.iter("error"))


def test_junit_survives_what_xml_can_not_hold() -> None:
    odd = checked([GateResult('a<"b"&\x00', "unknown", "\x1b[0m<bad>\ufffe", "r")])
    ElementTree.fromstring("".join(junit_xml(odd, allow_unknown=False)))


def test_annotations_are_of_what_was_missed_and_on_one_line() -> None:
    lines = list(github_lines(RESULT))
    assert [line.partition(" ")[0] for line in lines] == ["::error", "::warning", "::error"]
    assert "error_frac<1%25" in lines[0]


def test_json_holds_the_worst_status() -> None:
    assert '"status": "fail"' in "".join(check_json(RESULT))
