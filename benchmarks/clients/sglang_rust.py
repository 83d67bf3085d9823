"""sglang's Rust client (`sglang-bench`), its extension loaded out of an unpacked wheel.

`SGLANG_WHEEL_ROOT` names the folder. The package itself needs torch; its client does not.
"""

import importlib.util
import json
import os
import resource
import tempfile
import time
from pathlib import Path

from job import read_job


def main() -> None:
    """Runs the job through `run_config`; its own stamps stay inside, so none are written."""
    job = read_job()
    (library,) = Path(os.environ["SGLANG_WHEEL_ROOT"]).glob("sglang/srt/rust_extensions/_bench*.so")
    spec = importlib.util.spec_from_file_location("_bench", library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "prompts.json"
        turn = [{"from": "human", "value": "hello there"}, {"from": "gpt", "value": "well then"}]
        rows.write_text(json.dumps([{"conversations": turn}] * job.requests), encoding="utf-8")
        config = {
            "backend": "vllm-chat",
            "base_url": f"http://127.0.0.1:{job.port}",
            "model": "truth",
            "tokenizer": os.environ["BENCH_TOKENIZER"],
            "dataset_name": "sharegpt",
            "dataset_path": str(rows),
            "sharegpt_output_len": job.tokens,
            "num_prompts": job.requests,
            "max_concurrency": job.streams,
            "warmup_requests": 0,
            "ready_check_timeout_sec": 0,
            "worker_threads": 1,
            "disable_tqdm": True,
            "output_file": str(Path(folder) / "result.jsonl"),
            "extra_request_body": json.dumps({"ttft_ms": job.ttft_ms, "itl_ms": job.itl_ms}),
            "request_rate": "inf",
            "headers": [],
        }
        started = time.perf_counter()
        result = json.loads(module.run_config(json.dumps(config)))
        used = resource.getrusage(resource.RUSAGE_SELF)
        figures = {
            "chunks": result.get("total_output_tokens"),
            "wall_s": time.perf_counter() - started,
            "cpu_s": used.ru_utime + used.ru_stime,
            "ttft_p99_ms": result.get("p99_ttft_ms"),
        }
        print(json.dumps(figures))


main()
