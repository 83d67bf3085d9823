"""What the user declared beside what was observed: they agree, contradict, or can't be compared.

Neither ever completes the other. A served name may be an alias, so it contradicts nothing by
itself; a version, a number format, a GPU's name or a power limit does.
"""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np

from loadgen.analysis.findings.facts import Doubt, RunFacts
from loadgen.model.observed import Observed
from loadgen.model.table import Floats, Recording

Relation = Literal["agrees", "contradicts", "unlike", "unknown"]
CAP_TOLERANCE_FRAC = 0.02
"""Drivers round a power limit."""
NO_SPECULATION = ("none", "off")
MEANING_CHARS = 3
FILLING = ("model", "models", "the")
Same = Callable[[str, str], bool]
FORMATS = ("fp4", "fp8", "int4", "int8")
ALIASES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


class Compared(NamedTuple):
    """One fact in both words; empty where that side says nothing. `unlike`: names without a
    common part, which an alias explains.
    """

    field: str
    declared: str
    observed: str
    relation: Relation


def compared(recording: Recording) -> tuple[Compared, ...]:
    """Every fact that both sides could tell, by its name on the card; empty without a system."""
    system, observed = recording.plan.system, recording.observed
    if system is None:
        return ()
    engine, topology = system.engine, system.topology
    kv = cache_format(observed)
    return (
        _pair("engine", engine.name, observed.engine, _same_engine),
        _pair("engine version", engine.version, observed.engine_version, _same_version),
        _model(system.model.name, recording),
        _pair("kv precision", system.precision.kv, "" if kv == "auto" else kv, _same_format),
        _pair(
            "weight precision",
            system.precision.weights,
            _format_in(observed.server_args.get("quantization", "")),
            _same_format,
        ),
        _ranks("tensor parallel", topology.tp, observed.server_args.get("tp_size")),
        _ranks("pipeline parallel", topology.pp, observed.server_args.get("pp_size")),
        _pair("gpu", system.gpu.name, _one_name(observed.gpu_names), _holds),
        _pair("driver", system.driver, observed.gpu_driver, _same_version),
        _cap(system.power_cap_w, recording),
        _speculation(system.speculation, recording),
        _engines(topology.dp, recording),
    )


def declared_contradicted(run: RunFacts) -> Doubt | None:
    """What the system file says and what the endpoint shows can't both be true."""
    told = [
        f"{one.field}: declared `{one.declared}`, observed `{one.observed}`"
        for one in compared(run.recording)
        if one.relation == "contradicts"
    ]
    if not told:
        return None
    return Doubt(
        "doubt", "; ".join(told), "correct the --system file, or measure what it describes"
    )


def declared_name_differs(run: RunFacts) -> Doubt | None:
    """The declared model and the served name have no part in common: an alias, or another model."""
    one = next((c for c in compared(run.recording) if c.relation == "unlike"), None)
    if one is None:
        return None
    text = f"{one.field}: declared `{one.declared}`, served as `{one.observed}`"
    return Doubt("note", text, "an alias? the server's model list has no name of that kind")


def cache_format(observed: Observed) -> str:
    """The cache's number format as the engine tells it; `auto`: that of the model; empty: not."""
    told = observed.cache_config.get("cache_dtype")
    return told or observed.server_args.get("kv_cache_dtype", "")


def series_of(recording: Recording, name: str) -> Floats:
    """All samples of one telemetry name, by time; empty where nobody told."""
    telemetry = recording.telemetry
    return np.asarray(telemetry.value[telemetry.name == name], dtype=np.float64)


def drafted(recording: Recording) -> bool | None:
    """Whether the server drafted tokens: its counters, else its settings; None: neither tells."""
    drafts = series_of(recording, "drafts")
    if not len(drafts):
        return True if "speculative_algorithm" in recording.observed.server_args else None
    return bool(drafts.max() > drafts.min())


def power_limit_w(recording: Recording) -> float | None:
    """Power limit of one GPU as its driver tells, the median over GPUs; None: not told."""
    limits = series_of(recording, "power_limit_w")
    return float(np.median(limits)) if len(limits) else None


def _pair(field: str, declared: str | None, observed: str | None, same: Same) -> Compared:
    if not declared or not observed:
        return Compared(field, declared or "", observed or "", "unknown")
    return Compared(
        field, declared, observed, "agrees" if same(declared, observed) else "contradicts"
    )


def _model(name: str, recording: Recording) -> Compared:
    """Declared and served model; `unlike` where no word of one is in the other."""
    observed = recording.observed
    served = recording.plan.target.model
    known = [served, *([observed.model_root] if observed.model_root else [])]
    if not name or not served:
        return Compared("model", name, served, "unknown")
    agrees = any(_shares_a_word(name, one) for one in known)
    return Compared("model", name, served, "agrees" if agrees else "unlike")


def _cap(declared_w: float | None, recording: Recording) -> Compared:
    seen_w = power_limit_w(recording)
    said = "" if declared_w is None else f"{declared_w:g} W"
    seen = "" if seen_w is None else f"{seen_w:g} W"
    if declared_w is None or seen_w is None:
        return Compared("power cap", said, seen, "unknown")
    agrees = abs(seen_w - declared_w) <= CAP_TOLERANCE_FRAC * declared_w
    return Compared("power cap", said, seen, "agrees" if agrees else "contradicts")


def _speculation(said: str | None, recording: Recording) -> Compared:
    seen = drafted(recording)
    words = {True: "tokens drafted", False: "no token drafted", None: ""}[seen]
    if said is None or seen is None:
        return Compared("speculation", said or "", words, "unknown")
    agrees = (said.lower() not in NO_SPECULATION) is seen
    return Compared("speculation", said, words, "agrees" if agrees else "contradicts")


def _engines(declared: int | None, recording: Recording) -> Compared:
    """Data-parallel ranks beside the engines that the metrics tell apart."""
    telemetry = recording.telemetry
    rows = (telemetry.source == "server") & (telemetry.name == "running_requests")
    parts = set(zip(telemetry.origin[rows], telemetry.part[rows], strict=True))
    seen = str(len(parts)) if parts else ""
    said = "" if declared is None else str(declared)
    if not seen or not said:
        return Compared("data parallel", said, seen, "unknown")
    return Compared("data parallel", said, seen, "agrees" if said == seen else "contradicts")


def _ranks(field: str, declared: int | None, observed: str | None) -> Compared:
    """Ranks by number."""
    return _pair(field, None if declared is None else str(declared), observed, str.__eq__)


def _format_in(method: str) -> str:
    """The number format in a quantization method's name (`modelopt_fp4`: fp4); empty: none."""
    plain = _plain(method)
    return next((name for name in FORMATS if name in plain), "")


def _same_engine(declared: str, observed: str) -> bool:
    one, other = _plain(declared), _plain(observed)
    return one in other or other in one


def _same_version(declared: str, observed: str) -> bool:
    """Equal, or one ends at a part of the other: `0.32` and `0.32.0`, `v0.32.0` and `0.32.0+cu`."""
    one, other = (text.lower().removeprefix("v") for text in (declared, observed))
    shorter, longer = sorted((one, other), key=len)
    return longer == shorter or (longer.startswith(shorter) and not longer[len(shorter)].isalnum())


def _same_format(declared: str, observed: str) -> bool:
    """`fp8` and `fp8_e4m3` are one; `bf16` and `bfloat16` too."""
    one, other = (ALIASES.get(text.lower(), text.lower()) for text in (declared, observed))
    return one.startswith(other) or other.startswith(one)


def _holds(declared: str, observed: str) -> bool:
    return _plain(declared) in _plain(observed)


def _one_name(names: tuple[str, ...]) -> str:
    return ", ".join(sorted(set(names)))


def _plain(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def _shares_a_word(one: str, other: str) -> bool:
    """Whether the names have a word of three letters or more in common, or one holds the other."""
    words = [set(_words(text)) for text in (one, other)]
    return bool(words[0] & words[1]) or _plain(one) in _plain(other) or _plain(other) in _plain(one)


def _words(text: str) -> Iterator[str]:
    """Runs of three letters and more."""
    letters = "".join(c if c.isalpha() else " " for c in text.lower())
    return (word for word in letters.split() if len(word) >= MEANING_CHARS and word not in FILLING)
