"""Profiles: YAML files that give the simulator's law its constants.

Every member has a default, a type and a range in `_RULES`; anything else in a file is an error
that names file, path, value and what was expected.
"""

from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "profiles"


class ProfileError(ValueError):
    """A profile that can't be used: which file, where in it, which value, what was expected."""


@dataclass(frozen=True, slots=True)
class Prefill:
    """Prompt tokens: `chunk_tok` at most a step, first come first served."""

    tps: float = 30_000.0
    step_s: float = 0.004
    chunk_tok: int = 2048


@dataclass(frozen=True, slots=True)
class Decode:
    """Seconds a decode step takes: `a_s + b_s * batch + c_s * context tokens of the batch`."""

    a_s: float = 0.0066
    b_s: float = 0.00035
    c_s: float = 2e-8


@dataclass(frozen=True, slots=True)
class Kv:
    """Cache blocks of the engine; `prefix_cache` reuses those of equal prefixes, LRU."""

    block_tok: int = 16
    n_blocks: int = 8192
    prefix_cache: bool = True


@dataclass(frozen=True, slots=True)
class Speculation:
    """`draft_tok` drafts a step, each accepted with chance `accept` while all before it were."""

    draft_tok: int = 0
    accept: float = 0.7


@dataclass(frozen=True, slots=True)
class Output:
    """Answer lengths (lognormal, tokens without EOS) and channels."""

    mean_tok: float = 200.0
    sigma: float = 0.6
    min_tok: int = 4
    max_tok: int = 4096
    reasoning_share: float = 0.0
    reasoning_field: str = "reasoning"
    tool_silent_tok: int = 6
    tool_share: float = 0.0


@dataclass(frozen=True, slots=True)
class Power:
    """Watts of one GPU, idle and with a full batch; linear in the batch between."""

    n_gpus: int = 1
    idle_w: float = 90.0
    busy_w: float = 350.0
    gpu_name: str = "Mock GPU"


@dataclass(frozen=True, slots=True)
class Profile:
    """The constants of one simulated endpoint."""

    name: str
    model: str = "mock-small"
    max_model_len: int = 32_768
    max_batch: int = 32
    max_queue: int | None = None
    report_cached_tokens: bool = True
    role_event: str = "with_first_token"
    prefill: Prefill = field(default_factory=Prefill)
    decode: Decode = field(default_factory=Decode)
    kv: Kv = field(default_factory=Kv)
    speculation: Speculation = field(default_factory=Speculation)
    output: Output = field(default_factory=Output)
    power: Power = field(default_factory=Power)

    @property
    def context_tok(self) -> int:
        """Prompt and answer together at most: the model's limit, or the cache's room."""
        return min(self.max_model_len, self.kv.n_blocks * self.kv.block_tok - 1)

    def watts(self, n_running: int) -> float:
        """Power of one GPU while so many sequences run."""
        share = min(1.0, n_running / self.max_batch)
        return self.power.idle_w + (self.power.busy_w - self.power.idle_w) * share


_RULES: dict[str, tuple[type, float | None, float | None]] = {
    "model": (str, None, None),
    "max_model_len": (int, 16, 1e9),
    "max_batch": (int, 1, 1e6),
    "max_queue": (int, 0, 1e9),
    "report_cached_tokens": (bool, None, None),
    "role_event": (str, None, None),
    "prefill.tps": (float, 1e-3, 1e12),
    "prefill.step_s": (float, 0, 3600),
    "prefill.chunk_tok": (int, 1, 1e9),
    "decode.a_s": (float, 0, 3600),
    "decode.b_s": (float, 0, 3600),
    "decode.c_s": (float, 0, 3600),
    "kv.block_tok": (int, 1, 65_536),
    "kv.n_blocks": (int, 1, 1e9),
    "kv.prefix_cache": (bool, None, None),
    "speculation.draft_tok": (int, 0, 64),
    "speculation.accept": (float, 0, 1),
    "output.mean_tok": (float, 1, 1e7),
    "output.sigma": (float, 0, 5),
    "output.min_tok": (int, 0, 1e7),
    "output.max_tok": (int, 1, 1e7),
    "output.reasoning_share": (float, 0, 1),
    "output.reasoning_field": (str, None, None),
    "output.tool_silent_tok": (int, 0, 1000),
    "output.tool_share": (float, 0, 1),
    "power.n_gpus": (int, 1, 10_000),
    "power.idle_w": (float, 0, 1e7),
    "power.busy_w": (float, 0, 1e7),
    "power.gpu_name": (str, None, None),
}
_WORDS = {
    "role_event": ("with_first_token", "at_once"),
    "output.reasoning_field": ("reasoning", "reasoning_content"),
}
_TYPE_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def profile_names() -> list[str]:
    """Names of the built-in profiles."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_profile(name_or_path: str, overrides: tuple[str, ...] = ()) -> Profile:
    """A built-in profile by name or one from a file, with `path=value` overrides applied.

    Raises: ProfileError.
    """
    path = Path(name_or_path)
    if path.suffix not in (".yaml", ".yml"):
        path = FOLDER / f"{name_or_path}.yaml"
        if not path.exists():
            known = ", ".join(f"`{name}`" for name in profile_names())
            raise ProfileError(f"no profile `{name_or_path}`: expected {known} or a .yaml file")
    members = _flatten(_read_mapping(path), str(path))
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals:
            raise ProfileError(f"`{override}`: expected member=value, as in `kv.n_blocks=64`")
        members[key] = yaml.safe_load(text)
    checked = {key: _checked(key, value, str(path)) for key, value in members.items()}
    return _built(path.stem, checked)


def _read_mapping(path: Path) -> dict[str, Any]:
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise ProfileError(f"{path}: {exc.strerror or exc}") from exc
    except yaml.YAMLError as exc:
        raise ProfileError(f"{path}: not YAML: {' '.join(str(exc).split())}") from exc
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ProfileError(f"{path}: `{loaded!r}`: expected a mapping of members")
    return loaded


def _flatten(mapping: dict[str, Any], file: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    sections = {key.split(".")[0] for key in _RULES if "." in key}
    for key, value in mapping.items():
        if key not in sections:
            flat[str(key)] = value
        elif isinstance(value, dict):
            flat.update({f"{key}.{inner}": deep for inner, deep in value.items()})
        else:
            raise ProfileError(f"{file}: {key}: `{value!r}`: expected a mapping of members")
    return flat


def _checked(key: str, value: Any, file: str) -> Any:
    rule = _RULES.get(key)
    if rule is None:
        prefix = key.split(".")[0] + "." if "." in key else ""
        known = ", ".join(name for name in _RULES if name.startswith(prefix))
        raise ProfileError(f"{file}: {key}: unknown member: expected one of {known}")
    kind, low, high = rule
    where = f"{file}: {key}: `{value}`"
    if key == "max_queue" and value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = is_number if kind is float else type(value) is kind
    if not fits:
        raise ProfileError(f"{where}: expected {_TYPE_WORDS[kind]}")
    if low is not None and high is not None and not low <= value <= high:
        raise ProfileError(f"{where}: expected {_TYPE_WORDS[kind]} from {low:g} to {high:g}")
    if key in _WORDS and value not in _WORDS[key]:
        raise ProfileError(f"{where}: expected {' or '.join(_WORDS[key])}")
    return float(value) if kind is float else value


def _built(name: str, checked: dict[str, Any]) -> Profile:
    profile = Profile(name=name)
    top = {key: value for key, value in checked.items() if "." not in key}
    for member in fields(Profile):
        section = getattr(profile, member.name)
        inner = {
            key.split(".")[1]: value
            for key, value in checked.items()
            if key.startswith(f"{member.name}.")
        }
        if inner and is_dataclass(section) and not isinstance(section, type):
            top[member.name] = replace(section, **inner)
    return replace(profile, **top)
