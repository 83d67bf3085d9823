"""Labels of vllm:cache_config_info, from a captured page and from what others print."""

from pathlib import Path

from loadgen.transport.probing.cache_config import read_cache_config

CAPTURE = Path(__file__).parents[3] / "fixtures" / "captures" / "vllm-0.32-tools" / "metrics.http"


def test_a_captured_page_of_vllm_tells_format_blocks_and_prefix_cache() -> None:
    config = read_cache_config(CAPTURE.read_text("utf-8"))

    assert config["cache_dtype"] == "auto"
    assert config["block_size"] == "128"
    assert config["num_gpu_blocks"] == "8192"
    assert config["enable_prefix_caching"] == "True"
    assert "sliding_window" not in config  # the page says None


def test_quotes_in_a_value_end_no_label() -> None:
    line = 'vllm:cache_config_info{cache_dtype="fp8",odd="a \\" b, c=\\"d\\""} 1.0'

    assert read_cache_config(line) == {"cache_dtype": "fp8", "odd": 'a \\" b, c=\\"d\\"'}


def test_a_page_without_the_line_says_nothing() -> None:
    assert read_cache_config("# HELP up\nup 1\n") == {}
    assert read_cache_config("") == {}
