"""Text of a wanted token length, and counting tokens. Opens no socket: counters are handed in."""

from loadgen.tokens.fit import (
    AsyncCounter,
    Counter,
    fit_by_counting,
    fit_by_usage,
    fit_overhead,
    fit_tokenizer,
    load_tokenizer,
)
from loadgen.tokens.text import TextPool

__all__ = [
    "AsyncCounter",
    "Counter",
    "TextPool",
    "fit_by_counting",
    "fit_by_usage",
    "fit_overhead",
    "fit_tokenizer",
    "load_tokenizer",
]
