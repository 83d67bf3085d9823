"""Load tests for OpenAI-compatible LLM endpoints, with results that can be defended."""

__version__ = "0.1.0"
