"""Files of other tools that the tests share; fixtures/foreign/SOURCES.md says what they are."""

import gzip
from pathlib import Path

FOREIGN = Path(__file__).parents[1] / "fixtures" / "foreign"
VLLM = FOREIGN / "vllm.json"
VLLM_RATE = FOREIGN / "vllm-rate.json"
AIPERF = FOREIGN / "aiperf" / "profile_export.jsonl"
TOOLS = ("vllm", "vllm-rate", "aiperf", "guidellm")


def foreign_file(name: str, folder: Path) -> Path:
    """The file of that name, unpacked into `folder` where it is packed."""
    if name != "guidellm":
        return {"vllm": VLLM, "vllm-rate": VLLM_RATE, "aiperf": AIPERF}[name]
    path = folder / "guidellm.json"
    path.write_bytes(gzip.decompress((FOREIGN / "guidellm.json.gz").read_bytes()))
    return path
