"""`loadgen synth`: made-up traces for those without a corpus."""

from pathlib import Path
from typing import Annotated

import typer

from loadgen.cli.option import LOAD, RESULTS, option
from loadgen.errors import UsageError

EXAMPLES = """
loadgen synth agentx --sessions 50 -o made.jsonl
loadgen synth agentx --profile kvt --sessions 20 --seed 7 -o made.jsonl.gz
loadgen replay mock:gb200-node --traces made.jsonl -c 4 --rules smoke
"""
KINDS = ("agentx",)

Kind = Annotated[str, typer.Argument(metavar="agentx", show_default=False)]
Shape = Annotated[
    str,
    option(
        "--profile",
        says="agentx-like: as published of AgentX v1.0; kvt: as 710 recorded sessions. "
        "Default: agentx-like.",
        group=LOAD,
        metavar="NAME",
    ),
]
Count = Annotated[int, option("--sessions", says="How many. Default: 20.", group=LOAD, metavar="N")]
Seed = Annotated[
    int, option("--seed", says="The same seed, the same traces. Default: 1.", group=LOAD)
]
Out = Annotated[
    str,
    option(
        "--out",
        "-o",
        says="JSONL, or JSONL.gz. Default: agentx-like.jsonl.",
        group=RESULTS,
        metavar="FILE",
    ),
]


def synth(
    kind: Kind,
    profile: Shape = "agentx-like",
    sessions: Count = 20,
    seed: Seed = 1,
    out: Out = "agentx-like.jsonl",
) -> int:
    """Make traces by chance, shaped like recorded agentic coding sessions.

    Every trace, and every report made from it, says that it is AgentX-like synthetic.
    """
    import gzip

    import msgspec

    from loadgen.workload.made_traces import PROFILES, made_sessions

    if kind not in KINDS:
        raise UsageError(f"`loadgen synth {kind}`: nothing of that kind", "known: agentx")
    if profile not in PROFILES:
        raise UsageError(f"`--profile {profile}`: unknown", f"known: {', '.join(PROFILES)}")
    if sessions < 1:
        raise UsageError(f"`--sessions {sessions}`: at least 1")
    path = Path(out)
    requests = 0
    try:
        with gzip.open(path, "wb") if path.suffix == ".gz" else path.open("wb") as file:
            for trace in made_sessions(profile, sessions, seed):
                requests += sum(len(entry.get("requests", "1")) for entry in trace["requests"])
                file.write(msgspec.json.encode(trace) + b"\n")
    except OSError as error:
        raise UsageError(f"`{path}` can't be written: {error.strerror or error}") from error
    print(f"{path}: {sessions} sessions, {requests} requests, AgentX-like synthetic ({profile})")
    return 0
