"""Series and runs whose truth is known, for the statistics to be held against. Seconds, tokens.

`served` is a closed loop on a server whose speed follows a law of time; `AR(1)` and a single queue
(Lindley) give series whose neighbours are alike by a known amount.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from loadgen.model.record import EventKind
from loadgen.model.table import ABSENT, Floats, Ints, RunTable
from loadgen.units import NS_PER_S
from tests.tables import column_kinds

Law = Callable[[float], float]


@dataclass(frozen=True)
class Server:
    """A closed loop of `slots` for `lasts_s`; a token takes `tpot_s` times the law of its time.

    Requests scatter by `scatter` each and share a slow wander (AR(1) an answer) of `wander`.
    """

    slots: int = 16
    lasts_s: float = 60.0
    tpot_s: float = 0.04
    ttft_s: float = 0.05
    mean_tok: float = 25.0
    sigma: float = 0.5
    scatter: float = 0.03
    wander: float = 0.01


def level(_: float) -> float:
    """A law: always the same speed."""
    return 1.0


def warming(until_s: float, times: float, *, sudden: bool) -> Law:
    """A law: slower by `times` at first, level from `until_s` on."""
    if sudden:
        return lambda at_s: times if at_s < until_s else 1.0
    return lambda at_s: 1.0 + (times - 1.0) * max(0.0, 1.0 - at_s / until_s)


def drift(by_frac: float, over_s: float) -> Law:
    """A law: times per token change by `by_frac` in all, evenly."""
    return lambda at_s: 1.0 + by_frac * at_s / over_s


def step(by_frac: float, at_s: float) -> Law:
    """A law: times per token change by `by_frac` at once."""
    return lambda now_s: 1.0 + by_frac if now_s >= at_s else 1.0


def served(server: Server, law: Law, seed: int) -> RunTable:
    """Every request of a run of `server` under `law`, one token an event."""
    chance = np.random.default_rng(seed)
    answer_s = server.ttft_s + server.tpot_s * server.mean_tok
    wander = server.wander * ar1(chance, int(server.lasts_s / answer_s) + 2, 0.5)
    mu = math.log(server.mean_tok) - server.sigma**2 / 2
    free = [(slot * answer_s / server.slots, slot) for slot in range(server.slots)]
    heapq.heapify(free)
    rows = []
    while free:
        now_s, slot = heapq.heappop(free)
        if now_s >= server.lasts_s:
            continue
        n = max(2, round(chance.lognormal(mu, server.sigma)))
        pace = (
            law(now_s)
            * (1.0 + wander[int(now_s / answer_s)])
            * (1.0 + chance.normal(0.0, server.scatter))
        )
        first_s, tpot_s = server.ttft_s * pace * chance.uniform(0.8, 1.2), server.tpot_s * pace
        rows.append((now_s, first_s, tpot_s, n))
        heapq.heappush(free, (now_s + first_s + tpot_s * (n - 1) + 1e-4, slot))
    columns = np.array(rows).T
    return answers(columns[0], columns[1], columns[2], columns[3].astype(np.int64))


def answers(due_s: Floats, ttft_s: Floats, tpot_s: Floats, tokens: Ints) -> RunTable:
    """A table of good streamed answers with evenly spaced tokens, ordered by due."""
    n = len(due_s)
    start = np.concatenate([[0], np.cumsum(tokens)]).astype(np.int64)
    row = np.repeat(np.arange(n), tokens)
    place = np.arange(start[-1]) - start[row]
    at_s = due_s[row] + ttft_s[row] + place * tpot_s[row]
    events = np.round(at_s * NS_PER_S).astype(np.int64)
    due = np.round(due_s * NS_PER_S).astype(np.int64)
    first, last = events[start[:-1]], events[start[1:] - 1]
    given = {
        "point": np.zeros(n, np.int64), "seq": np.arange(n), "turn_no": np.zeros(n, np.int64),
        "due_at_ns": due, "sent_at_ns": due, "written_at_ns": due, "first_byte_at_ns": first,
        "done_at_ns": last, "http_status": np.full(n, 200), "usage_output_tok": tokens,
        "own_tok": tokens, "reads": tokens, "multi_event_reads": np.zeros(n, np.int64),
        "seen_lag_max_ns": np.zeros(n, np.int64), "seen_lag_sum_ns": np.zeros(n, np.int64),
        "stale_reconnects": np.zeros(n, np.int64), "share": np.zeros(n, np.int64),
        "stream_asked": np.ones(n, np.bool_), "phase": words(n, "window"),
        "outcome": words(n, "ok"), "own_tok_source": words(n, "events"),
        "stamp_kind": words(n, "kernel"), "finish_reason": words(n, "stop"),
    }  # fmt: skip
    columns: dict[str, object] = {}
    for name, kind in column_kinds().items():
        empty = words(n, "") if kind is object else np.full(n, _absent(kind), dtype=kind)
        columns[name] = given.get(name, empty)
    return RunTable(
        **columns,  # type: ignore[arg-type]
        event_start=start,
        event_at_ns=events,
        event_read_no=place.astype(np.int32),
        event_kind=np.full(len(events), int(EventKind.CONTENT), dtype=np.uint8),
        event_tok=np.full(len(events), -1, dtype=np.int32),
        event_chars=np.full(len(events), 4, dtype=np.int32),
    )


def words(n: int, text: str) -> "np.ndarray[tuple[int, ...], np.dtype[np.object_]]":
    """The same word n times."""
    column = np.empty(n, dtype=object)
    column[:] = text
    return column


def ar1(chance: np.random.Generator, n: int, rho: float) -> Floats:
    """Stationary AR(1) of mean 0 and standard deviation 1."""
    shocks = chance.normal(0.0, math.sqrt(1.0 - rho**2), n)
    values = np.empty(n)
    values[0] = chance.normal()
    for i in range(1, n):
        values[i] = rho * values[i - 1] + shocks[i]
    return values


def queue_waits(chance: np.random.Generator, n: int, load: float) -> Floats:
    """Time in an M/M/1 system of mean service 1, after a long warm-up: Exp(1 - load) by theory."""
    warm = int(200 / (1 - load) ** 2)
    service = chance.exponential(1.0, n + warm)
    gap = chance.exponential(1.0 / load, n + warm)
    waits, wait = np.empty(n + warm), 0.0
    for i in range(n + warm):
        wait = max(0.0, wait - gap[i])
        waits[i] = wait = wait + service[i]
    return waits[warm:]


def _absent(kind: type) -> int | bool:
    return False if kind is np.bool_ else ABSENT
