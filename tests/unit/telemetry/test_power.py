"""Power out of Prometheus text: DCGM's fields in our units, and series that users name."""

import asyncio

import pytest

from loadgen.telemetry.power import DCGM, PowerSource, parse_query, read_dcgm, read_query
from loadgen.telemetry.prometheus import read_series
from loadgen.telemetry.sampling import TelemetryError

LABELS = 'gpu="0",UUID="GPU-a",modelName="NVIDIA H200",DCGM_FI_DRIVER_VERSION="580.1"'
PAGE = f"""
DCGM_FI_DEV_POWER_USAGE{{{LABELS}}} 512.5
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{{LABELS}}} 9000000
DCGM_FI_DEV_SM_CLOCK{{{LABELS}}} 1980
DCGM_FI_DEV_GPU_UTIL{{{LABELS}}} 97
DCGM_FI_DEV_FB_USED{{{LABELS}}} 1024
DCGM_FI_DEV_POWER_USAGE{{gpu="1",UUID="GPU-b",modelName="NVIDIA H200"}} 80
"""


def test_dcgm_is_read_in_our_units_by_gpu() -> None:
    series = read_series(PAGE, frozenset(DCGM))
    found = {(one.name, one.part): one.value for one in read_dcgm(series, "x")}

    assert found["power_w", "GPU-a"] == 512.5
    assert found["power_w", "GPU-b"] == 80
    assert found["energy_j", "GPU-a"] == 9000
    assert found["sm_clock_hz", "GPU-a"] == 1.98e9
    assert found["util_frac", "GPU-a"] == pytest.approx(0.97)
    assert found["memory_used_bytes", "GPU-a"] == 2**30


def test_mig_slices_of_one_gpu_count_once() -> None:
    slices = "\n".join(
        f'DCGM_FI_DEV_POWER_USAGE{{UUID="GPU-a",GPU_I_ID="{slice_id}"}} 400' for slice_id in (1, 2)
    )
    [one] = read_dcgm(read_series(slices, frozenset(DCGM)), "x")

    assert one.value == 400


def test_a_named_series_is_told_apart_by_its_other_labels() -> None:
    page = 'w{rack="7",feed="a"} 100\nw{rack="7",feed="b"} 90\nw{rack="8",feed="a"} 5\n'
    found = list(read_query(page, parse_query('w{rack="7"}'), "x"))

    assert [(one.part, one.value) for one in found] == [("feed=a", 100), ("feed=b", 90)]


@pytest.mark.parametrize("text", ["", "7w", "w{rack=7}", 'w{rack="7"', 'sum(w{rack="7"})'])
def test_what_is_no_series_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a series was expected"):
        parse_query(text)


@pytest.mark.parametrize("text", ["w", " w ", "w{}", 'w{a="1", b="x y"}', 'node:w{a="1",}'])
def test_what_is_a_series_is_taken(text: str) -> None:
    assert parse_query(text).name.strip() in {"w", "node:w"}


def test_a_source_knows_names_and_driver_and_says_when_there_is_nothing() -> None:
    pages = [PAGE, "up 1"]

    async def ask(url: str) -> str:
        return pages.pop(0)

    async def look() -> PowerSource:
        source = PowerSource("http://x/metrics?token=1", ask)
        await source.look()
        with pytest.raises(TelemetryError, match="no power series of DCGM's"):
            await source.look()
        return source

    source = asyncio.run(look())
    assert source.origin == "http://x/metrics"
    assert source.names == ("NVIDIA H200", "NVIDIA H200")
    assert source.driver == "580.1"
