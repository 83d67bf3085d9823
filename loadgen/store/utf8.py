"""Makes any Python text storable as UTF-8, so that one odd argument or answer can't stop a run."""

import re

SMUGGLED_BYTES = re.compile("[\udc80-\udcff]+")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """`text` without lone surrogates.

    Bytes that Python smuggled into an argument under an ASCII locale become what they were;
    half an emoji becomes the replacement character.
    """
    restored = SMUGGLED_BYTES.sub(_restored, text)
    return LONE_SURROGATE.sub("\ufffd", restored)


def _restored(smuggled: "re.Match[str]") -> str:
    return smuggled[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def storable_tree(value: object) -> object:
    """`value`, a tree of JSON types, with every text in it storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable_tree(key): storable_tree(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable_tree(item) for item in value]
    return value
