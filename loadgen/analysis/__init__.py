"""The reading wing's arithmetic: Recording -> Summary. Pure numpy and scipy, no I/O."""

from loadgen.analysis.metrics import METRICS, Metric
from loadgen.analysis.summarise import request_metrics, summarise

__all__ = ["METRICS", "Metric", "request_metrics", "summarise"]
