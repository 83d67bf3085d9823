"""The ladder on the screen: neighbours that fail for one reason share a line."""

from msgspec import structs

from loadgen.model.summary import Headline, LadderRung, Summary
from loadgen.report.ladder import ladder_lines
from loadgen.report.layout import WIDTH

EMPTY = Summary("r", "valid", "A", (), (), Headline(), "complete")


def test_targets_that_nothing_tells_of_share_a_line_with_what_was_measured_above() -> None:
    slow = "no point was measured that slow: the slowest has 216.3 tok/s a user"
    summary = structs.replace(
        EMPTY,
        ladder=(
            LadderRung(30, 848, "closed:8", reason=slow),
            LadderRung(200, 848, "closed:8", reason=slow),
            LadderRung(250, 700, "closed:4", 710, ("closed:4", "closed:8"), 1.5),
            LadderRung(300, reason="no point is that fast: the fastest has 269 tok/s a user"),
        ),
    )
    lines = list(ladder_lines(summary))
    assert max(map(len, lines)) <= WIDTH
    assert lines[1].split("n/a: ")[0].split() == ["30", "to", "200"]
    assert "848 at closed:8 is at or above" in " ".join(" ".join(lines[1:3]).split())
    assert lines[3].split() == ["250", "710", "$1.50", "700", "at", "closed:4"]
    assert lines[4].split()[:2] == ["300", "n/a:"]
