"""Dated tables with their sources: what makers and papers state of GPUs and open models.

A row is somebody's statement and no measurement; it is used only where a user names it
(`docs/system-file.md`).
"""

import datetime
from functools import cache
from typing import TypeVar

import msgspec
from msgspec import Struct

from loadgen.model.prices import PriceTable

Table = TypeVar("Table")


class GpuRow(Struct, frozen=True, forbid_unknown_fields=True):
    """One GPU. Memory in 10^9 bytes, bandwidth in 10^12 bytes/s, dense peaks in 10^12 FLOP/s."""

    title: str
    memory_gb: float
    bandwidth_tbps: float
    dense_tflops: dict[str, float]
    tdp_w: float
    source: str
    dated: datetime.date
    second_hand: bool
    note: str = ""


class ModelRow(Struct, frozen=True, forbid_unknown_fields=True):
    """One open model. Parameters in 10^9; `params_active_b` None: dense, all are active."""

    params_total_b: float
    weight_bytes_per_param: float
    kv_bytes_per_token: float
    layers: int
    context_tok: int
    source: str
    dated: datetime.date
    second_hand: bool
    params_active_b: float | None = None


class _Gpus(Struct, forbid_unknown_fields=True):
    retrieved: datetime.date
    gpus: dict[str, GpuRow]


class _Models(Struct, forbid_unknown_fields=True):
    retrieved: datetime.date
    models: dict[str, ModelRow]


@cache
def load_gpus() -> dict[str, GpuRow]:
    """GPUs by name (`H200`)."""
    return _table("gpus.yaml", _Gpus).gpus


@cache
def load_models() -> dict[str, ModelRow]:
    """Open models by name (`llama-3.1-8b`)."""
    return _table("models.yaml", _Models).models


@cache
def load_prices() -> PriceTable:
    """GPU-hour rates by tier, all-in power by GPU name (`GB200`), and what APIs bill."""
    return _table("prices.yaml", PriceTable)


def cited(row: GpuRow | ModelRow) -> str:
    """Where a row comes from, in one line."""
    hand = ", second-hand" if row.second_hand else ""
    return f"{row.source} ({row.dated.isoformat()}{hand})"


def _table(name: str, kind: type[Table]) -> Table:
    from importlib.resources import files  # 25 ms with yaml that most runs shouldn't pay for

    import yaml

    text = files(__name__).joinpath(name).read_text(encoding="utf-8")
    return msgspec.convert(yaml.safe_load(text), kind)
