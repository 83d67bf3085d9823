"""Workloads by name: bundled or own YAML files, data files and specs, all to a `WorkloadPlan`."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from loadgen.errors import InputError, UsageError
from loadgen.model.plan import WorkloadPlan
from loadgen.specs import load_yaml, parse_spec, parse_tokens
from loadgen.workload.lengths import length_file
from loadgen.workload.sessions import History

GENERATOR = 1
"""Moves when the same plan makes other prompts than before; part of every workload hash."""

Scalar = int | float | str


Specs = Mapping[str, type[Struct]]
"""Format names and what may be said of each; `loadgen.workload.FORMATS` holds them."""


class WorkloadFile(Struct, forbid_unknown_fields=True):
    """What a workload file may say. None is left to the format's own default."""

    format: str
    description: str = ""
    path: str | None = None
    isl: Scalar | None = None
    osl: Scalar | None = None
    shared_prefix: Scalar | None = None
    turns: Scalar | None = None
    think: Scalar | None = None
    system: str | None = None
    ignore_eos: bool | None = None
    isl_is_wire: bool | None = None
    history: History | None = None
    once: bool | None = None
    salted: bool | None = None
    skip_bad: bool | None = None
    limit_name: str | None = None
    utility_calls: bool | None = None


def plan_of_text(text: str, specs: Specs) -> WorkloadPlan:
    """The plan of a spec, of a workload file, or of a bundled name; see `load_workload`."""
    name, colon, _ = text.partition(":")
    if name.strip() in specs and (colon or not Path(text).exists()):
        return _plan_of(parse_spec(text, specs), name.strip(), name.strip())
    return _read_file(find_workload(text), specs)


def _read_file(path: Path, specs: Specs) -> WorkloadPlan:
    """The plan that a workload file describes; its data file is looked for beside it.

    Raises:
        InputError: names the file, the line, the key, the value and what was expected.

    """
    file = load_yaml(path, WorkloadFile)
    made = specs.get(file.format)
    if made is None:
        raise InputError(
            f"`{path}`: `format` is `{file.format}`", f"known: {', '.join(sorted(specs))}"
        )
    said = {
        key: value
        for key in WorkloadFile.__struct_fields__[2:]
        if (value := getattr(file, key)) is not None
    }
    if "shared_prefix" in said:
        said["shared_prefix_tok"] = parse_tokens(str(said.pop("shared_prefix")))
    strange = [key for key in said if key not in made.__struct_fields__]
    if strange:
        raise InputError(
            f"`{path}`: `{strange[0]}` means nothing to the format `{file.format}`",
            f"it takes {', '.join(made.__struct_fields__)}",
        )
    if "path" in said:
        said["path"] = str(path.parent / said["path"])
    elif "path" in made.__struct_fields__:
        raise InputError(f"`{path}`: the format `{file.format}` needs `path`, its data file")
    texts = {key: str(value) if _is_number(value) else value for key, value in said.items()}
    texts |= {key: said[key] for key in ("shared_prefix_tok",) if key in said}
    return _plan_of(made(**texts), file.format, path.stem)


def find_workload(name: str) -> Path:
    """The workload file of that path or bundled name.

    Raises:
        UsageError: there is none; lists the bundled ones.

    """
    if Path(name).suffix in (".jsonl", ".json"):
        raise UsageError(
            f"`{name}` is data, not a workload file", f"say how to read it: `chat:{name}`"
        )
    if Path(name).is_file():
        return Path(name)
    for folder in _bundled_folders():
        path = folder / f"{name}.yaml"
        if path.is_file():
            return path
    known = ", ".join(bundled_workloads())
    raise UsageError(f"no workload `{name}`: neither a file nor a bundled one", f"known: {known}")


def bundled_workloads() -> list[str]:
    """Names of the workload files that come with loadgen."""
    return sorted({path.stem for folder in _bundled_folders() for path in folder.glob("*.yaml")})


def bundled_path(name: str) -> Path:
    """A file or folder that comes with loadgen. Raises: UsageError."""
    for folder in _bundled_folders():
        if (folder / name).exists():
            return folder / name
    raise UsageError(f"`{name}` does not come with this installation", "name your own: --traces")


def workload_sha256(plan: WorkloadPlan) -> str:
    """Hex digest over format, options and the bytes of the data files; not name, path or salt.

    Raises:
        InputError: a data file can't be read.

    """
    digest = sha256(b"workload/%d\n" % GENERATOR)
    files = _data_files(Path(plan.path)) if plan.path else []
    for option in ("isl", "osl", "turns"):
        if file := length_file(getattr(plan, option)):
            files.append(file)
            plan = msgspec.structs.replace(plan, **{option: "empirical"})
    plan = msgspec.structs.replace(plan, name="", path="", sha256="")
    digest.update(msgspec.json.encode(plan, order="sorted"))
    for file in files:
        try:
            with file.open("rb") as stream:
                while piece := stream.read(1 << 20):
                    digest.update(piece)
        except OSError as error:
            raise InputError(f"`{file}`: {(error.strerror or str(error)).lower()}") from error
    return digest.hexdigest()


def _data_files(path: Path) -> list[Path]:
    """The file, or the files that stand directly in a folder, by name."""
    return sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]


def _plan_of(spec: Struct, format_name: str, name: str) -> WorkloadPlan:
    values = msgspec.structs.asdict(spec)
    if "system" in values:
        values["system_text"] = values.pop("system")
    return WorkloadPlan(name=name, format=format_name, **values)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _bundled_folders() -> list[Path]:
    """In an installed wheel `loadgen/_workloads`, in a checkout `workloads/` beside `loadgen`."""
    package = Path(__file__).parents[1]
    return [package / "_workloads", package.parent / "workloads"]
