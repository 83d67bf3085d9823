"""Rules S1 to S7: what words leave open. They warn; alone they never make a contradiction."""

from collections.abc import Callable

from loadgen.model.claim import Change, Claim, Fact, Ladder, Latencies, Ruling

KNOWN = ("stated", "inferred")
SAME = ("workload", "tokenizer", "precision", "isl", "osl")
"""What two compared results must share before their difference means anything."""


def best_of_configurations(claim: Claim) -> list[Ruling]:
    """S1: figures that are each the best of all configurations describe no run."""
    return [
        Ruling(
            "S1",
            "warn",
            "each latency is the least over all configurations: no single run had them together",
            said.src,
        )
        for said in claim.statements
        if isinstance(said, Latencies) and said.best_of_configs
    ]


def percentile_without_n(claim: Claim) -> list[Ruling]:
    """S2: a percentile needs the number of samples behind it."""
    statistic = claim.value.statistic.lower()
    if not (statistic.startswith("p") and statistic[1:].replace(".", "").isdigit()):
        return []
    if _known(claim, "n"):
        return []
    return [Ruling("S2", "warn", f"{statistic} of how many samples isn't said")]


def interpolated(claim: Claim) -> list[Ruling]:
    """S3: a value read off a curve between measured points was not measured."""
    return [
        Ruling("S3", "note", "ladder values are read off a fitted curve between runs", said.src)
        for said in claim.statements
        if isinstance(said, Ladder) and said.interpolated
    ]


def unlike_compared(claim: Claim) -> list[Ruling]:
    """S4: two results are compared and it isn't said that they had one workload."""
    open_facts = [name for name in SAME if not _known(claim, name)]
    if not open_facts:
        return []
    return [
        Ruling(
            "S4",
            "warn",
            f"{said.before} and {said.after} are compared; same {', '.join(open_facts)}: not said",
            said.src,
        )
        for said in claim.statements
        if isinstance(said, Change)
    ]


def attribution(claim: Claim) -> list[Ruling]:
    """S5: a gain is put down to one thing while several changed, or it isn't said what did."""
    changed = claim.facts.get("changed", Fact())
    if not any(isinstance(said, Change) for said in claim.statements):
        return []
    if not isinstance(changed.v, list) or not changed.v:
        return [Ruling("S5", "warn", "what changed between the two results isn't said")]
    if len(changed.v) == 1:
        return [Ruling("S5", "ok", f"one thing changed: {changed.v[0]}", changed.src)]
    names = ", ".join(map(str, changed.v))
    text = f"several things changed ({names}): the gain can't be put down to one of them"
    return [Ruling("S5", "warn", text, changed.src)]


def numerator(claim: Claim) -> list[Ruling]:
    """S6: `tokens` may be output, or input and output, cached ones included."""
    if claim.value.token_kind != "unknown" or not claim.value.unit.startswith("tok"):
        return []
    return [Ruling("S6", "warn", "which tokens are counted (output, or prompts too) isn't said")]


def made_up_text(claim: Claim) -> list[Ruling]:
    """S7: speculation on random text or forced lengths accepts unlike real text."""
    speculation = claim.facts.get("speculation", Fact())
    dataset = claim.facts.get("dataset", Fact())
    synthetic = dataset.status in KNOWN and "synthetic" in str(dataset.v).lower()
    if speculation.status in KNOWN and str(speculation.v).lower() not in ("none", "off"):
        if synthetic:
            text = "speculative decoding on synthetic text: its acceptance isn't that of real use"
            return [Ruling("S7", "warn", text)]
        return []
    if speculation.status not in KNOWN:
        return [Ruling("S7", "note", "whether tokens were speculated isn't said")]
    return []


WORDING: tuple[Callable[[Claim], list[Ruling]], ...] = (
    best_of_configurations,
    percentile_without_n,
    interpolated,
    unlike_compared,
    attribution,
    numerator,
    made_up_text,
)


def _known(claim: Claim, name: str) -> bool:
    return claim.facts.get(name, Fact()).status in KNOWN
