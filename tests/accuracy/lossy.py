"""A run in a network of its own that loses segments: `python -m tests.accuracy.lossy near OUT`.

`near`: the loopback loses 3 % of all segments, ours and the server's. `far`: the server lives in
a namespace of its own behind a pair of virtual cards, and 3 % of what it sends is lost. Nothing
outside the new namespaces is touched. Ends with code 77 where that is not permitted.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from tests.accuracy.sickness import Diagnosis, diagnose

NOT_HERE = 77
DROP_3_OF_100 = "4,32 0 0 4294963256,37 1 0 128849018,6 0 0 2,6 0 0 4294967295,"
"""Classic BPF: a random word over 3 % of its range passes on (-1), else the segment is shot (2)."""
FAR_HOST, NEAR_HOST = "10.9.0.2", "10.9.0.1"
LOAD = ("--load", "closed:8", "--duration", "5s", "--osl", "50")


class NotPermittedError(Exception):
    """No such network can be made here."""


def in_a_network(where: str, out: Path) -> "subprocess.CompletedProcess[str]":
    """This module in a new network namespace, as root of a new user namespace where need be."""
    more = [] if os.geteuid() == 0 else ["--map-root-user"]
    command = ["unshare", "--net", *more, sys.executable, "-m", "tests.accuracy.lossy", where]
    return subprocess.run(
        [*command, str(out)], capture_output=True, text=True, timeout=100, check=False
    )


def near(out: Path) -> Diagnosis:
    """Both directions of the loopback lose segments."""
    _do("ip link set lo up")
    _lose("lo")
    return diagnose(out, *LOAD)


def far(out: Path) -> Diagnosis:
    """What the server sends is lost on the way, which its own host alone sends again."""
    _do("ip link set lo up")  # the canary's
    with _far_server() as url:
        return diagnose(out, *LOAD, serving=nullcontext(url))


@contextmanager
def _far_server() -> Iterator[str]:
    code = "import os, sys; sys.stdin.readline(); os.execv(sys.executable, sys.argv[1:])"
    serve = ["loadgen.mock", "metronome", "--host", FAR_HOST, "--port", "8000"]
    process = subprocess.Popen(
        ["unshare", "--net", sys.executable, "-c", code, sys.executable, "-m", *serve],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    inside = f"nsenter --target {process.pid} --net "
    try:
        _wait_for_namespace(process.pid)
        _do(f"ip link add near type veth peer name far netns {process.pid}")
        _do(f"ip addr add {NEAR_HOST}/24 dev near")
        _do("ip link set near up")
        _do(f"{inside}ip addr add {FAR_HOST}/24 dev far")
        _do(f"{inside}ip link set far up")
        _lose("near")
        process.stdin.write("go\n")
        process.stdin.flush()
        yield process.stdout.readline().split()[1]
    finally:
        process.kill()
        process.communicate()


def _wait_for_namespace(pid: int) -> None:
    ours = os.readlink("/proc/self/ns/net")
    for _ in range(200):
        if os.readlink(f"/proc/{pid}/ns/net") != ours:
            return
        time.sleep(0.02)
    raise NotPermittedError("no second network namespace")


def _lose(device: str) -> None:
    """Of what comes in: a drop on the way out is told to the sender at once and is no loss."""
    _do(f"tc qdisc add dev {device} clsact")
    _do(f"tc filter add dev {device} ingress bpf direct-action bytecode", DROP_3_OF_100)


def _do(words: str, *more: str) -> None:
    try:
        subprocess.run([*words.split(), *more], check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise NotPermittedError(str(error)) from error
    except subprocess.CalledProcessError as error:
        raise NotPermittedError(f"`{words}`: {error.stderr.strip()}") from error


def main(where: str, out: str) -> int:
    """Prints each finding's code and text."""
    try:
        found = {"near": near, "far": far}[where](Path(out))
    except NotPermittedError as error:
        print(error, file=sys.stderr)
        return NOT_HERE
    for finding in found.document["summary"]["findings"]:
        print(finding["code"], finding["severity"], finding["text"])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
