"""Bytes of a finished answer to a `Record`: SSE, OpenAI dialects, outcomes, token counts."""
