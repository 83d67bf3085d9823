"""Servers' metrics under our names: captured texts of real engines, and texts made to be hard."""

import asyncio
from pathlib import Path

import pytest

from loadgen.telemetry.prometheus import PrometheusSource, read_server
from loadgen.telemetry.sampling import TelemetryError

CAPTURES = Path(__file__).parents[2] / "fixtures" / "captures"


def told(text: str) -> dict[tuple[str, str], float]:
    """(name, part) -> value."""
    return {(one.name, one.part): one.value for one in read_server(text, "x")}


def captured(server: str) -> dict[tuple[str, str], float]:
    return told((CAPTURES / server / "metrics.http").read_text(encoding="utf-8"))


def test_vllm_tells_tokens_by_engine_and_phases_as_sums_and_counts() -> None:
    seen = captured("vllm-0.32-tools")

    assert seen["input_tok", "0"] == 1087
    assert seen["output_tok", "0"] == 477
    assert seen["cached_tok", "0"] == 128
    assert seen["ended_ok", "0"] == 30
    assert (seen["ttft_s", "count"], seen["itl_s", "count"]) == (30, 447)
    assert seen["prefill_s", "sum"] == pytest.approx(0.592987)
    assert ("model", "tiny") in seen


def test_sglang_and_llama_cpp_are_read_by_the_same_names() -> None:
    sglang, llama = captured("sglang-0.5.23"), captured("llama.cpp-xllamacpp")

    assert (sglang["input_tok", ""], sglang["output_tok", ""]) == (967, 416)
    assert sglang["cached_tok", ""] == 729
    assert llama["output_tok", ""] == 576
    assert llama["input_tok", ""] == 254 + 953, "llama.cpp leaves cached tokens out of its prompts"


def test_a_page_without_a_known_metric_is_no_server() -> None:
    assert not told("# TYPE python_info gauge\npython_info 1.0\nprocess_start_time_seconds 5\n")
    assert not told("")
    assert not told("<html>not found</html>")


@pytest.mark.parametrize("name", ["vllm:generation_tokens", "vllm:generation_tokens_total"])
def test_counters_count_with_and_without_total(name: str) -> None:
    assert told(f'{name}{{engine="0"}} 7') == {("output_tok", "0"): 7}


def test_engines_stay_apart_and_series_of_one_engine_add_up() -> None:
    lines = [
        'vllm:generation_tokens_total{engine="0",model_name="m"} 7',
        'vllm:generation_tokens_total{engine="1",model_name="m"} 5',
        'vllm:prompt_tokens_by_source_total{engine="0",source="local_compute"} 100',
        'vllm:prompt_tokens_by_source_total{engine="0",source="local_cache_hit"} 30',
        'vllm:prompt_tokens_by_source_total{engine="0",source="external_kv_transfer"} 4',
    ]
    seen = told("\n".join(lines))

    assert (seen["output_tok", "0"], seen["output_tok", "1"]) == (7, 5)
    assert seen["cached_tok", "0"] == 34


def test_ranks_that_repeat_each_other_count_once() -> None:
    lines = [f'sglang:generation_tokens_total{{tp_rank="{rank}"}} 9' for rank in range(4)]

    assert told("\n".join(lines)) == {("output_tok", ""): 9}


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "seven", ""])
def test_what_is_no_number_is_absent_not_zero(value: str) -> None:
    assert not told(f"vllm:num_requests_running {value}")


def test_a_cut_or_odd_line_costs_only_itself() -> None:
    text = 'vllm:num_requests_running{engine="0" 3\nvllm:num_requests_waiting{engine="0"} 2'

    assert told(text) == {("waiting_requests", "0"): 2}


def test_a_source_says_when_it_answers_with_nothing_of_use() -> None:
    async def page(url: str) -> str:
        return "up 1"

    source = PrometheusSource("http://x/metrics", "http://x/metrics", page)
    with pytest.raises(TelemetryError, match="no metric of a server that is known"):
        asyncio.run(source.look())
    assert source.text == "up 1"
