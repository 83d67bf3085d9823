"""What an engine says of its cache in its metrics: labels of `vllm:cache_config_info`."""

import re

INFO = "vllm:cache_config_info{"
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')
NOTHING = ("", "None")
MOST_CHARS = 200


def read_cache_config(metrics: str) -> dict[str, str]:
    """Labels of the first engine's line, those that say nothing left out; empty without one.

    Read without the parser of Prometheus text, which a run's start would wait 20 ms for.
    """
    line = next((line for line in metrics.splitlines() if line.startswith(INFO)), "")
    found = _LABEL.findall(line[len(INFO) :])
    return {name: value[:MOST_CHARS] for name, value in found if value not in NOTHING}
