"""Which engine answers, in which version, and by what we know. Control routes only.

A router or proxy in front leaves the engine's marks as they are, so several marks are read and all
that spoke are told.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from loadgen.transport.control import ControlPlane, ModelCard
from loadgen.transport.probing.server_args import read_server_args

VersionPath = tuple[str, tuple[str, ...]]
"""A route and the member names that lead to the version in its answer."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What gives one engine away; an empty text never matches."""

    engine: str
    owned_by: str = ""
    metrics: str = ""
    server: str = ""
    version: VersionPath | None = None


MARKS = (
    # first, since it wears vLLM's clothes on purpose
    Mark("loadgen mock", metrics=" Simulated.", version=("/version", ("version",))),
    Mark("llama.cpp", "llamacpp", "\nllamacpp:", "llama.cpp", ("/props", ("build_info",))),
    Mark("SGLang", "sglang", "\nsglang:", version=("/get_server_info", ("version",))),
    Mark("vLLM", "vllm", "\nvllm:", version=("/version", ("version",))),
    Mark("llmock", "llmock", version=("/health", ("version",))),
    Mark("xpyd-sim", "xpyd-sim"),
    Mark("TensorRT-LLM", "tensorrt_llm", "\ntrtllm_", version=("/version", ("version",))),
    Mark("LMDeploy", "lmdeploy", "\nlmdeploy:"),
    Mark("TGI", "", "\ntgi_", version=("/info", ("version",))),
    Mark("Ollama", "library", "", "", ("/api/version", ("version",))),
)
"""In order: the first mark that matches names the engine."""

TELLS_ARGS = "SGLang"
"""The engine whose version route also holds what it was started with."""

ASKED_WHEN_UNKNOWN: tuple[tuple[str, VersionPath], ...] = (
    ("Ollama", ("/api/version", ("version",))),
    ("TGI", ("/info", ("version",))),
)
"""Routes that only one engine has, asked where no mark matched."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """None where nothing gave the engine, or its version, away."""

    engine: str | None = None
    version: str | None = None
    evidence: str = ""
    server_args: dict[str, str] = field(default_factory=dict)
    """Settings that the engine told of itself beside its version."""


async def take_fingerprint(
    control: ControlPlane, models: Sequence[ModelCard], metrics: str | None
) -> Fingerprint:
    """The engine by its marks, then its version by its own route. Raises: EndpointError."""
    for mark in MARKS:
        signs = _signs(mark, models, metrics or "", control.server_header or "")
        if signs:
            version, told_by, reply = await _ask_version(control, mark.version)
            args = read_server_args(reply) if mark.engine == TELLS_ARGS else {}
            return Fingerprint(mark.engine, version, ", ".join(signs + told_by), args)
    for engine, path in ASKED_WHEN_UNKNOWN:
        version, told_by, _ = await _ask_version(control, path)
        if version:
            return Fingerprint(engine, version, ", ".join(told_by))
    version = await control.version()
    return Fingerprint(None, version, "`/version`, but no sign of an engine" if version else "")


def _signs(mark: Mark, models: Sequence[ModelCard], metrics: str, server_header: str) -> list[str]:
    found = []
    if mark.owned_by and any(card.owned_by == mark.owned_by for card in models):
        found.append(f"owned_by `{mark.owned_by}`")
    if mark.metrics and mark.metrics in f"\n{metrics}":
        found.append(f"metrics named `{mark.metrics.strip()}`")
    if mark.server and server_header.startswith(mark.server):
        found.append(f"header `server: {server_header}`")
    return found


async def _ask_version(
    control: ControlPlane, path: VersionPath | None
) -> tuple[str | None, list[str], Any]:
    """(version, the route that told it, the whole answer)."""
    if path is None:
        return None, [], None
    route, names = path
    reply = await control.get(route)
    answer = None if reply is None else reply.json()
    version = _dig(answer, names)
    return (version, [f"`{route}`"], answer) if version else (None, [], answer)


def _dig(answer: Any, names: tuple[str, ...]) -> str | None:
    value = answer
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) and value else None
