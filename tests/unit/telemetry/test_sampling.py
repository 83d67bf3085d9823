"""The sampler: looks in time, and silence told as such."""

import asyncio
from collections.abc import Sequence

import pytest

from loadgen import clock
from loadgen.model.reading import SILENT, Reading
from loadgen.telemetry import sampling
from loadgen.telemetry.sampling import Sampler, TelemetryError

Kept = list[tuple[int, Sequence[Reading]]]


class Answers:
    """A source that takes `delay_s` for an answer, or says why there is none."""

    origin = "here"

    def __init__(self, why: str = "", delay_s: float = 0.0) -> None:
        self.looks = 0
        self._why, self._delay_s = why, delay_s

    async def look(self) -> Sequence[Reading]:
        self.looks += 1
        await asyncio.sleep(self._delay_s)
        if self._why:
            raise TelemetryError(self._why)
        return [Reading("server", self.origin, "output_tok", "", float(self.looks))]


def test_a_look_is_stamped_between_asking_and_answer() -> None:
    kept: Kept = []

    async def look() -> tuple[int, int]:
        before = clock.now_ns()
        await Sampler([("server", Answers())], lambda *one: kept.append(one)).look_now()
        return before, clock.now_ns()

    before, after = asyncio.run(look())
    [(at_ns, readings)] = kept
    assert before <= at_ns <= after
    assert [one.value for one in readings] == [1.0]


def test_a_source_that_does_not_answer_is_told_with_its_reason() -> None:
    kept: Kept = []
    sampler = Sampler([("server", Answers("refused"))], lambda *one: kept.append(one))
    asyncio.run(sampler.look_now())

    [(_, [silent])] = kept
    assert (silent.name, silent.part, silent.origin) == (SILENT, "refused", "here")


def test_a_slow_source_never_keeps_a_point_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "EDGE_LIMIT_S", 0.02)
    kept: Kept = []
    sampler = Sampler(
        [("server", Answers(delay_s=60.0)), ("gpu", Answers())], lambda *one: kept.append(one)
    )
    asyncio.run(sampler.look_now())
    names = sorted((one.source, one.name) for _, readings in kept for one in readings)
    assert names == [("server", "output_tok"), ("server", SILENT)]
