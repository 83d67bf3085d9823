"""A metric, a shape, a format and an output are each added in the places that the design names.

Each test makes a copy of the package, changes it as a newcomer would, and runs the copy.
"""

import json
import shutil
from pathlib import Path

import pytest

import loadgen as package
from tests.scenarios.command_lines import BARE, Ended, answer, bodies, loadgen
from tests.scripted_server import ScriptedServer

METRIC = '''
def wait_frac(requests: Requests) -> Floats:
    """Share of the answer's time that was spent before its first token."""
    return ratio(ttft_s(requests), e2e_s(requests))


METRICS: tuple[Metric, ...] = (
    Metric("wait_frac", "frac", "lower", "request", "waiting share", ("p50",), wait_frac),
'''

SHAPE = '''

@dataclass(frozen=True)
class Twins:
    """Two sessions at each instant, instants 1/rate seconds apart."""

    rate_rps: float
    slots: ClassVar[None] = None
    think_ns: ClassVar[int] = 0

    def arrivals(self, chance: random.Random) -> Iterator[int]:
        """0, 0, 1/rate, 1/rate ..."""
        number = 0
        while True:
            at_ns = round(number * NS_PER_S / self.rate_rps)
            yield at_ns
            yield at_ns
            number += 1
'''

OUTPUT = '''"""One line a point: its load and how many requests it issued."""

from collections.abc import Iterable

from loadgen.model.summary import Summary
from loadgen.model.table import Recording


def format_tally(summary: Summary, recording: Recording) -> Iterable[str]:
    """`closed:1 5` and a newline, for each point."""
    for point in summary.points:
        yield f"{point.load} {point.counts.issued}\\n"
'''

FORMAT = '''"""Sessions that ask for the square of their index."""

from msgspec import Struct

from loadgen.model.plan import WorkloadPlan
from loadgen.model.session import Session, Turn
from loadgen.workload.sessions import Overlong, WorkloadContext


class SquaresSpec(Struct, frozen=True):
    """`squares:osl=8`."""

    osl: str = "8"


class Squares:
    """Session i asks for i times i."""

    n_rows: int | None = None
    notices: tuple[str, ...] = ()

    def __init__(self, plan: WorkloadPlan, context: WorkloadContext) -> None:
        self._osl = int(plan.osl)

    def session(self, point: int, index: int) -> Session | None:
        """One turn."""
        ask = b'"messages":[{"role":"user","content":"%d times %d"}]' % (index, index)
        return Session(f"{point}-{index}", (Turn("0", (ask,), max_output_tok=self._osl),))

    def rows_over(self, limit_tok: int, count: object = None) -> Overlong:
        """None."""
        return Overlong(0, 0, 0, True)
'''


class House:
    """A copy of the package to build on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        source = Path(package.__file__).parent
        shutil.copytree(source, folder / "loadgen")
        shutil.copytree(source.parent / "workloads", folder / "workloads")

    def change(self, path: str, old: str, new: str) -> None:
        """Puts `new` where `old` stands once."""
        file = self.folder / "loadgen" / path
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{path} has changed: {old!r} stands there no more"
        file.write_text(text.replace(old, new), encoding="utf-8")

    def append(self, path: str, text: str) -> None:
        """Adds to a file, or makes it."""
        with (self.folder / "loadgen" / path).open("a", encoding="utf-8") as file:
            file.write(text)

    async def run(self, server: ScriptedServer, *words: object) -> Ended:
        """`loadgen run` of this copy."""
        out = self.folder / "results"
        fixed = ("run", server.url, *BARE, "-n", 6, "--out", out)
        ended = await loadgen(*fixed, *words, out=out, cwd=self.folder)
        assert ended.code == 0, ended.stderr
        return ended

    async def report(self, run: Ended, name: str) -> str:
        """A report by this copy."""
        words = ("report", run.folder, "-f", name)
        return (await loadgen(*words, out=run.out, cwd=self.folder)).stdout


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


async def test_a_metric_is_a_function_and_a_row(house: House) -> None:
    house.change("analysis/metrics.py", "\nMETRICS: tuple[Metric, ...] = (\n", METRIC)
    async with ScriptedServer(answer(6, ttft_s=0.03, itl_s=0.006)) as server:
        run = await house.run(server)
    assert "wait_frac" in run.stdout
    measure = run.summary["points"][0]["whole"]["wait_frac.p50"]
    assert measure["unit"] == "frac"
    assert 0.2 < measure["value"] < 1
    rows = [json.loads(line) for line in (await house.report(run, "jsonl")).splitlines()]
    assert all(0.2 < row["wait_frac"] < 1 for row in rows)
    assert "wait_frac.p50" in (await house.report(run, "csv")).splitlines()[0]


async def test_a_shape_is_a_generator_and_a_line(house: House) -> None:
    house.append("schedule/arrivals.py", SHAPE)
    house.change("schedule/__init__.py", "Poisson, Shape", "Poisson, Shape, Twins")
    house.change("schedule/__init__.py", '"gamma": Gamma,', '"gamma": Gamma, "twins": Twins,')
    async with ScriptedServer(answer()) as server:
        run = await house.run(server, "--load", "twins:rate=20/s")
    due = run.table.due_at_ns
    assert (due - due[0]).tolist() == [0, 0, 50_000_000, 50_000_000, 100_000_000, 100_000_000]
    assert "twins" in run.stdout


async def test_an_output_is_a_file_and_a_line(house: House) -> None:
    house.append("report/tally.py", OUTPUT)
    house.change(
        "report/__init__.py",
        "from loadgen.report.text import format_text\n",
        "from loadgen.report.tally import format_tally\n"
        "from loadgen.report.text import format_text\n",
    )
    house.change(
        "report/__init__.py", '"md": format_md,', '"md": format_md, "tally": format_tally,'
    )
    async with ScriptedServer(answer()) as server:
        run = await house.run(server, "--format", "tally")
    assert run.stdout == "closed:1 6\n"
    assert await house.report(run, "tally") == "closed:1 6\n"


async def test_a_workload_format_is_a_file_and_a_line(house: House) -> None:
    house.append("workload/squares.py", FORMAT)
    house.change(
        "workload/__init__.py",
        "from loadgen.workload.synthetic import Synthetic, SyntheticSpec\n",
        "from loadgen.workload.squares import Squares, SquaresSpec\n"
        "from loadgen.workload.synthetic import Synthetic, SyntheticSpec\n",
    )
    house.change(
        "workload/__init__.py",
        '"chat": Format(ChatSpec, Chat),',
        '"chat": Format(ChatSpec, Chat), "squares": Format(SquaresSpec, Squares),',
    )
    async with ScriptedServer(answer()) as server:
        run = await house.run(server, "--workload", "squares:osl=5")
    asked = [body["messages"][0]["content"] for body in bodies(server)]
    assert asked == [f"{index} times {index}" for index in range(6)]
    assert "squares" in run.stdout
