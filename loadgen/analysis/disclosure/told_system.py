"""What a run tells of model and system on the disclosure card: declared, observed, contradicted."""

from loadgen.analysis.disclosure.declared import cache_format, drafted, power_limit_w
from loadgen.analysis.disclosure.told import Told, View

RANKS = ("tp", "pp", "ep", "dp")


def model(view: View) -> Told:
    """Served name and declared name."""
    system = view.system
    return Told(view.recording.plan.target.model, system.model.name if system else "")


def revision(view: View) -> Told:
    """Which weights."""
    return Told(
        view.recording.observed.server_args.get("revision", ""),
        declared=(view.system.model.revision if view.system else None) or "",
    )


def parameters(view: View) -> Told:
    """All and active."""
    if view.system is None:
        return Told()
    total, active = view.system.model.params_total_b, view.system.model.params_active_b
    return Told(declared=f"{total:g}e9" + (f", {active:g}e9 active" if active else ""))


def weight_precision(view: View) -> Told:
    """Number format of the weights: the engine's setting, or declared; bytes a weight bound it."""
    seen = view.recording.observed.server_args.get("quantization", "")
    if seen:
        return view.beside("weight precision")._replace(observed=seen)
    if view.system is None:
        return Told()
    said = view.system.precision.weights
    bytes_ = view.system.model.weight_bytes_per_param
    return Told(declared=said) if said else Told(f"{bytes_:g} bytes a weight", inferred=True)


def activation_precision(view: View) -> Told:
    """Number format of the activations."""
    return Told(declared=(view.system.precision.activations if view.system else None) or "")


def kv_precision(view: View) -> Told:
    """Number format of the cache."""
    seen = cache_format(view.recording.observed)
    told = view.beside("kv precision")
    if seen == "auto":
        return told if told.declared else Told("auto: that of the model", inferred=True)
    return told._replace(observed=seen)


def speculation(view: View) -> Told:
    """Whether tokens were drafted."""
    told = view.beside("speculation")
    words = {True: "tokens drafted", False: "no token drafted", None: ""}[drafted(view.recording)]
    return told._replace(observed=words)


def gpu(view: View) -> Told:
    """Which GPUs, and how many."""
    names = view.recording.observed.gpu_names
    seen = ", ".join(f"{names.count(name)} x {name}" for name in sorted(set(names)))
    system, told = view.system, view.beside("gpu")
    return told._replace(
        observed=seen, declared=f"{system.gpus} x {system.gpu.name}" if system else ""
    )


def topology(view: View) -> Told:
    """How GPUs share the work."""
    args = view.recording.observed.server_args
    seen = " ".join(f"{n}{v}" for n in RANKS if (v := args.get(f"{n}_size")) is not None)
    if view.system is None:
        return Told(seen)
    parts = view.system.topology
    said = [f"{n}{v}" for n in RANKS if (v := getattr(parts, n)) is not None]
    if not seen and not said and view.system.gpus == 1:
        return Told("one GPU", inferred=True)
    names = ("tensor parallel", "pipeline parallel", "data parallel")
    contradicted = any(view.beside(name).contradicted for name in names)
    return Told(seen, " ".join(said), contradicted=contradicted)


def disaggregation(view: View) -> Told:
    """Prefill and decode together or apart."""
    if view.system is None:
        return Told()
    apart = view.system.topology.disaggregated
    if apart is None:
        return Told("one GPU", inferred=True) if view.system.gpus == 1 else Told()
    return Told(declared="prefill and decode apart" if apart else "together")


def interconnect(view: View) -> Told:
    """What joins the GPUs."""
    if view.system is None:
        return Told()
    said = view.system.topology.interconnect
    if said is None and view.system.gpus == 1:
        return Told("one GPU", inferred=True)
    return Told(declared=said or "")


def power_cap(view: View) -> Told:
    """Power limit of one GPU."""
    told, seen_w = view.beside("power cap"), power_limit_w(view.recording)
    return told if seen_w is None else told._replace(observed=f"{seen_w:g} W")


def engine(view: View) -> Told:
    """What serves, with its version."""
    observed, system = view.recording.observed, view.system
    seen = f"{observed.engine or ''} {observed.engine_version or ''}".strip()
    said = "" if system is None else f"{system.engine.name or ''} {system.engine.version or ''}"
    wrong = any(view.beside(name).contradicted for name in ("engine", "engine version"))
    return Told(seen, said.strip(), not observed.engine_version, wrong)


def engine_flags(view: View) -> Told:
    """How the engine was started."""
    args = view.recording.observed.server_args
    seen = ", ".join(f"{name} {value}" for name, value in args.items())
    return Told(seen, declared=(view.system.engine.flags if view.system else None) or "")


def driver(view: View) -> Told:
    """The GPUs' driver."""
    told, seen = view.beside("driver"), view.recording.observed.gpu_driver
    return told if seen is None else told._replace(observed=seen)


def image_digest(view: View) -> Told:
    """The container by content."""
    return Told(declared=(view.system.engine.image_digest if view.system else None) or "")
