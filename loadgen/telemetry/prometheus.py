"""The server's own metrics out of Prometheus text, under our names whatever the engine calls them.

A value is summed over the series of one engine; engines of one process stay apart by `part`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from loadgen.model.reading import Reading
from loadgen.telemetry.aliases import ALIASES, Alias
from loadgen.telemetry.sampling import Ask, Means, TelemetryError

SERVER = "server"
ENGINE_LABELS = ("engine", "dp_rank", "engine_idx", "worker_id")
"""The first that a series carries tells its engine."""
COPY_LABELS = frozenset({"tp_rank", "pp_rank", "moe_ep_rank", "pid"})
"""Ranks of one engine say the same: of series that differ in these only, the largest counts."""
MODEL = "model"
MODEL_LABELS = ("model_name", "model")
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


class PrometheusSource:
    """One URL. `text` is its last whole answer, for those that keep it."""

    def __init__(self, url: str, shown: str, ask: Ask) -> None:
        """`shown` is the URL without credentials."""
        self.origin = shown
        self.text = ""
        self._url = url
        self._ask = ask

    async def look(self) -> Sequence[Reading]:
        """All that the table of aliases knows of. Raises: TelemetryError."""
        try:
            text = await self._ask(self._url)
        except TelemetryError:
            self.text = ""
            raise
        self.text = text
        readings = read_server(text, self.origin)
        if not readings:
            raise TelemetryError("answers, but with no metric of a server that is known here")
        return readings


def server_sources(means: Means) -> list[PrometheusSource]:
    """One a URL of the plan's server."""
    return [PrometheusSource(url, url.partition("?")[0], means.ask) for url in means.server_urls]


Series = dict[str, list[tuple[Mapping[str, str], float]]]
"""Labels and value of each series by name."""


def read_series(text: str, wanted: frozenset[str]) -> Series:
    """The series of these names; lines that can't be read are left out, as are NaN and Inf."""
    from prometheus_client.parser import text_string_to_metric_families as families  # 0.1 s

    found: Series = {}
    for line in text.splitlines():
        name = NAME.match(line)
        if name is None or name[0] not in wanted:
            continue
        try:
            samples = [sample for family in families(line) for sample in family.samples]
        except (ValueError, IndexError, KeyError):
            continue
        for sample in samples:
            if isfinite(sample.value):
                found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def read_server(text: str, origin: str) -> list[Reading]:
    """What a server's metrics say, by our names; empty where no name is known."""
    series = read_series(text, WANTED)
    readings: list[Reading] = []
    done: set[str] = set()
    for alias in ALIASES:
        if alias.name not in done:
            found = list(_readings(alias, series, origin))
            readings += found
            done |= {alias.name} if found else set()
    if done <= {"started_at_s"}:
        return []
    return [*readings, *_models(series, origin)]


def _names(alias: Alias, theirs: str) -> list[tuple[str, str]]:
    """(series' name, our part) in the order to try."""
    if alias.kind == "histogram":
        return [(f"{theirs}_sum", "sum"), (f"{theirs}_count", "count")]
    return [(f"{theirs}_total", ""), (theirs, "")] if alias.kind == "counter" else [(theirs, "")]


WANTED = frozenset(
    name
    for alias in ALIASES
    for theirs in (*alias.theirs, *filter(None, (alias.plus,)))
    for name, _ in _names(alias, theirs)
)


def _readings(alias: Alias, series: Series, origin: str) -> Iterator[Reading]:
    """The first of the alias's names that is there."""
    for theirs in alias.theirs:
        if alias.kind == "histogram":
            sums = [(name, part) for name, part in _names(alias, theirs) if name in series]
            if len(sums) == len(("sum", "count")):
                for name, part in sums:
                    total = sum(_by_engine(series[name]).values())
                    yield Reading(SERVER, origin, alias.name, part, total)
                return
            continue
        values = _counted(alias, theirs, series)
        if values:
            for part, value in sorted(values.items()):
                yield Reading(SERVER, origin, alias.name, part, value)
            return


def _counted(alias: Alias, theirs: str, series: Series) -> dict[str, float]:
    """Values by engine; empty where the name, or the one to add, is not there."""
    name = next((name for name, _ in _names(alias, theirs) if name in series), None)
    if name is None:
        return {}
    chosen = series[name]
    if alias.with_labels is not None:
        label, words = alias.with_labels
        chosen = [(labels, value) for labels, value in chosen if labels.get(label) in words]
    values = _by_engine(chosen)
    if alias.plus:
        more = _counted(Alias(alias.name, alias.kind, (alias.plus,)), alias.plus, series)
        if not more:
            return {}
        values = {part: value + more.get(part, 0.0) for part, value in values.items()}
    return values


def _by_engine(series: Sequence[tuple[Mapping[str, str], float]]) -> dict[str, float]:
    """Sums by engine; of copies, which ranks of one engine give, the largest."""
    apart: dict[tuple[tuple[str, str], ...], float] = {}
    for labels, value in series:
        own = tuple(sorted(pair for pair in labels.items() if pair[0] not in COPY_LABELS))
        apart[own] = max(value, apart.get(own, value))
    sums: dict[str, float] = {}
    for own, value in apart.items():
        labels = dict(own)
        part = next((labels[label] for label in ENGINE_LABELS if label in labels), "")
        sums[part] = sums.get(part, 0.0) + value
    return sums


def _models(series: Series, origin: str) -> Iterator[Reading]:
    """One a name of a model that the series carry; the value is 1."""
    names = {
        labels[label]
        for entries in series.values()
        for labels, _ in entries
        for label in MODEL_LABELS
        if labels.get(label)
    }
    for name in sorted(names):
        yield Reading(SERVER, origin, MODEL, name, 1.0)
