"""llama.cpp's own HTTP server out of the wheel `xllamacpp`, in this process, until SIGTERM.

python tests/llama_runner.py MODEL.gguf PORT SLOTS CTX_PER_SLOT [KEY]
"""

import signal
import sys

import xllamacpp

STOPS = {signal.SIGTERM, signal.SIGINT}


def main(model: str, port: str, slots: str, ctx: str, key: str = "") -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)  # before the C++ threads inherit the mask
    wanted = xllamacpp.CommonParams()
    wanted.model.path = model
    wanted.model_alias = {"tiny"}
    wanted.port = int(port)
    wanted.n_parallel = int(slots)
    wanted.n_ctx = int(ctx) * int(slots)
    wanted.cpuparams.n_threads = 1
    wanted.cpuparams_batch.n_threads = 1
    wanted.endpoint_metrics = True
    wanted.endpoint_slots = True
    wanted.use_jinja = True
    wanted.enable_reasoning = 1
    wanted.ui = False
    wanted.offline = True
    if key:
        wanted.api_keys = [key]
    server = xllamacpp.Server(wanted)
    signal.sigwait(STOPS)
    del server


if __name__ == "__main__":
    main(*sys.argv[1:])
