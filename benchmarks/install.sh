#!/bin/sh
# Makes the environments of the clients and tools that speed.py compares with; each is git-ignored.
# A package that the index does not give is left out, and speed.py says so in its table.
set -u
cd "$(dirname "$0")" || exit 1
PYTHON=${PYTHON:-python3}

environment() { # NAME PACKAGE...
  name=.venv-$1
  shift
  "$PYTHON" -m venv "$name" && "$name/bin/python" -m pip install --quiet "$@" || {
    echo "install.sh: left out: $*"
    rm -rf "$name"
  }
}

# loadgen as users have it: without the packages of its own tests, some of which start-up would load
environment loadgen --constraint ../constraints.txt --editable ..
environment clients httpx httpx-aiohttp aiohttp orjson uvloop
for tool in aiperf guidellm genai-bench inference-perf; do
  environment "$tool" "$tool"
done

# sglang asks for torch; its Rust client does not, so the wheel is only unpacked.
"$PYTHON" -m venv .venv-sglang &&
  .venv-sglang/bin/python -m pip download --quiet --no-deps --dest .venv-sglang/down sglang &&
  "$PYTHON" -m zipfile -e .venv-sglang/down/sglang-*.whl .venv-sglang/wheel || {
  echo "install.sh: left out: sglang"
  rm -rf .venv-sglang
}
