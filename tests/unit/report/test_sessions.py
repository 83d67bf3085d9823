"""A replay on the screen, in markdown and in CSV."""

import csv
from dataclasses import replace

from msgspec import structs

from loadgen.analysis import summarise
from loadgen.model.exchange import Outcome
from loadgen.model.plan import PointPlan, ReplayRules, WorkloadPlan
from loadgen.model.record import Record
from loadgen.model.summary import ReplayPace, Summary
from loadgen.model.table import Recording
from loadgen.report.csv import format_csv
from loadgen.report.layout import WIDTH
from loadgen.report.md import format_md
from loadgen.report.text import format_text
from loadgen.store.tables import make_table
from tests.tables import recording
from tests.unit.analysis.replay.test_sessions import MANY, turn

LABEL = "AgentX-like synthetic"


def played(*points: list[Record], **prices: float) -> tuple[Summary, Recording]:
    """A sweep of replays, a list of records a point."""
    base = recording([], "closed:1")
    records = [
        structs.replace(one, key=structs.replace(one.key, point=index))
        for index, point in enumerate(points)
        for one in point
    ]
    plan = structs.replace(
        base.plan,
        points=tuple(PointPlan(n, f"closed:{1 << n}", slots=1 << n) for n in range(len(points))),
        replay=ReplayRules(),
        workload=WorkloadPlan(format="agentx", ignore_eos=True, label=LABEL),
        prices=dict(prices),
    )
    found = replace(base, plan=plan, table=make_table(records))
    return summarise(found), found


def sped(tpot_times: int) -> list[Record]:
    """Answers that take so many times longer a token; more than one play of 30 turns."""
    slow = []
    for n in range(30):
        record = turn("0-0-0", n, 1000 + 1000 * n, (1, 4), 0)
        start = record.sent_at_ns or 0
        times = record.events.at_ns
        for i, at in enumerate(times):
            times[i] = start + (at - start) * tpot_times
        slow.append(structs.replace(record, done_at_ns=times[-1] + 1))
    return slow


def test_the_screen_tells_a_replay_within_its_columns() -> None:
    lines = "".join(format_text(*played(MANY, gpus=4.0, gpu_usd_per_h=2.0))).splitlines()
    text = "\n".join(lines)
    assert max(map(len, lines)) <= WIDTH
    for words in (
        "1 lane · 30 requests · 1 session of 1 trace",
        "0 finished, 0 recycled",
        "interactivity p50 100 · p75 100 · p90 100 · p95 n/a",
        "in all a GPU of 4",
        "turn 16-31 · 14 requests",
        "no, because the traces are AgentX-like synthetic",
    ):
        assert words in text


def test_made_traces_are_named_in_every_report() -> None:
    told = played(MANY)
    for form in (format_text, format_md, format_csv):
        assert LABEL in "".join(form(*told))


def test_idle_cuts_and_late_prompts_are_told_where_there_were_any() -> None:
    summary, found = played(MANY)
    assert "  pace  " not in "".join(format_text(summary, found))
    pace = ReplayPace(1, 3, 30.0, 2, 1200.0)
    told = tuple(structs.replace(one, pace=pace) for one in summary.replays)
    summary = structs.replace(summary, replays=told)

    assert (
        "pace          3 pauses of all sessions cut by 30 s · 2 pauses of single sessions cut by "
    ) in "".join(format_text(summary, found))
    assert "1 prompt not made when due" in "".join(format_text(summary, found))
    (row,) = csv.DictReader(format_csv(summary, found))
    assert (row["replay.late_bodies"], row["replay.session_idle_cut_s"]) == ("1", "1200.0")


def test_markdown_holds_the_replay() -> None:
    assert "```text\n  replay  " in "".join(format_md(*played(MANY)))


def test_csv_holds_a_replays_figures_by_name() -> None:
    (row,) = csv.DictReader("".join(format_csv(*played(MANY))).splitlines())
    assert float(row["replay.intvty_tps.p90"]) == 100
    assert row["replay.intvty_tps.p95"] == ""
    assert row["replay.finished"] == "0"
    assert "filler" in row["replay.not_comparable"]


def test_what_only_one_point_suffers_is_told_of_that_point() -> None:
    broken = [structs.replace(one, outcome=Outcome.TRUNCATED) for one in MANY[:6]]
    text = "".join(format_text(*played(MANY, [*broken, *MANY[6:]])))
    assert text.count("not of code") == 1
    assert "c=2: 6 of 30 requests failed, over 10%" in text


def test_a_replays_ladder_stands_on_p90_interactivity_and_all_its_tokens() -> None:
    summary, _ = played(sped(2), sped(3), gpus=2.0)
    fast, slow = summary.replays
    (rung,) = [rung for rung in summary.ladder if rung.target_tps == 50]
    assert fast.intvty_tps["p90"] == 50
    assert slow.intvty_tps["p90"] == 1 / 0.03
    assert fast.total_tps is not None
    assert rung.measured_tps == fast.total_tps / 2
    assert rung.measured_at == "c=1"


def test_the_busiest_subagents_are_named_below_their_sum() -> None:
    helped = [turn("0-0-0", n, 9000 + 200 * n, (1, 4), 0, stream="agent_007") for n in range(3)]
    text = "".join(format_text(*played([*MANY, *helped])))
    assert "  subagents     1 · 3 requests" in text
    assert "\n                t/agent_007 · 3 requests" in text
