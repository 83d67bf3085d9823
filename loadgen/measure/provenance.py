"""Where and with what a run is made: the client's side, observed, never declared."""

import platform
import shlex
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import loadgen
from loadgen import clock
from loadgen.measure.calibration import cached_calibration
from loadgen.measure.workers import own_cores
from loadgen.model.plan import Plan
from loadgen.model.provenance import Provenance
from loadgen.transport.proxies import secrets_towards
from loadgen.transport.redact import redact_headers, redact_text

PACKAGES = ("httptools", "httpx", "msgspec", "numpy", "pyarrow", "scipy", "uvloop")
HEADER_OPTIONS = {"--header", "-H"}


def provenance_of(plan: Plan, secrets: Mapping[str, str]) -> Provenance:
    """The tool, the interpreter, the host, and the command to repeat the run with its seed."""
    return Provenance(
        tool_version=loadgen.__version__,
        python=platform.python_version(),
        platform=platform.platform(),
        host=clock.host_name(),
        cpu=_cpu_name(),
        cores=own_cores(),
        command_line=_command_line(plan, secrets),
        packages={name: found for name in PACKAGES if (found := _version(name))},
        calibration=cached_calibration(),
    )


def _command_line(plan: Plan, secrets: Mapping[str, str]) -> str:
    """What was typed, secrets redacted, with the seed that was drawn."""
    hidden = secrets_towards(plan.target.base_url, secrets)
    words = ["loadgen"]
    for word in sys.argv[1:]:
        is_header = words[-1] in HEADER_OPTIONS or word.startswith("--header=")
        words.append(redact_text(_without_header_value(word) if is_header else word, hidden))
    if "--seed" not in words:
        words += ["--seed", str(plan.seed)]
    return shlex.join(words)


def _without_header_value(word: str) -> str:
    option, equals, header = word.partition("=") if word.startswith("--") else ("", "", word)
    name, colon, value = header.partition(":")
    return f"{option}{equals}{name}{colon}{redact_headers({name: value})[name]}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _cpu_name() -> str:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return platform.processor()
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in {"model name", "Model"}:
            return value.strip()
    return platform.machine()
