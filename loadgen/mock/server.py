"""The command line of the mock: `python -m loadgen.mock [simulator|metronome] ...`."""

import argparse
import gc
import os
import select
import signal
import sys
import threading
from pathlib import Path

from loadgen.mock.faults import FaultError
from loadgen.mock.listener import announce, listening_socket, raise_file_limit
from loadgen.mock.metronome.serve import serve_metronome
from loadgen.mock.profiles import ProfileError, profile_names

_EXAMPLES = """\
examples:
  loadgen mock --profile small --port 8000
  loadgen mock --fault 'status:code=503,p=0.1' --fault 'stall:after=3,ms=500,p=0.05'
  loadgen mock --set max_batch=4 --set kv.n_blocks=64 --truth truth.jsonl
  loadgen mock metronome --port 8001
"""


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """The options; exits with 2 on a wrong one."""
    parser = argparse.ArgumentParser(
        prog="loadgen mock",
        description="An OpenAI-compatible server that simulates an engine and logs what it sent.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", nargs="?", default="simulator", choices=("simulator", "metronome"))
    names = ", ".join(profile_names())
    parser.add_argument("--profile", default="small", help=f"{names}, or a YAML file")
    change = parser.add_argument("--set", action="append", default=[], dest="sets")
    change.metavar, change.help = "MEMBER=VALUE", "change the profile; repeatable"
    parser.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument("--seed", type=int, default=1, help="of texts and faults; default: 1")
    parser.add_argument("--truth", type=Path, metavar="FILE", help="JSONL of what was sent when")
    fault = parser.add_argument("--fault", action="append", default=[], metavar="SPEC")
    fault.help = "misbehave, kind:key=value,...; repeatable; docs/mock.md lists them"
    parser.add_argument("--api-key", metavar="KEY", help="/v1 answers 401 without it")
    leave = parser.add_argument("--until-stdin-ends", action="store_true")
    leave.help = "end with the program that holds the other end of stdin, however that ends"
    tls = parser.add_argument("--tls", nargs=2, type=Path, metavar=("CERT", "KEY"))
    tls.help = "PEM files; serve HTTPS"
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Serves until SIGTERM or SIGINT; 0, or 2 with one line on stderr for a wrong option."""
    args = parse_args(argv)
    raise_file_limit()
    if args.until_stdin_ends:
        threading.Thread(target=_leave_with_stdin, daemon=True).start()
    try:
        if args.kind == "metronome":
            return _serve_metronome(args)
        from loadgen.mock.serving import serve_simulator  # starlette and uvicorn: 0.15 s

        return serve_simulator(args)
    except (ProfileError, FaultError) as exc:
        sys.stderr.write(f"error: {exc}\n")
        return 2
    except (OSError, OverflowError) as exc:  # a port above 65535 overflows
        reason = getattr(exc, "strerror", None) or exc
        sys.stderr.write(f"error: cannot serve on `{args.host}:{args.port}`: {reason}\n")
        return 2


def _leave_with_stdin() -> None:
    """Ends the server as SIGTERM does once nobody holds the other end of stdin any more."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _serve_metronome(args: argparse.Namespace) -> int:
    if not hasattr(select, "epoll"):
        sys.stderr.write("error: the metronome needs epoll and timerfd: Linux only\n")
        return 2
    sock = listening_socket(args.host, args.port)
    announce(sock, tls=bool(args.tls))
    gc.collect()
    gc.freeze()
    gc.disable()
    return serve_metronome(sock, args)
