"""Buffering told from speculative decoding on real sockets: nginx in front of the mock or not."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from loadgen.analysis import summarise
from loadgen.model.summary import Summary
from loadgen.store.recording import read_recording
from tests.mock_process import start_mock
from tests.real_servers import nginx_proxy
from tests.sweeps import finish, running

PLAIN: tuple[str, ...] = ()
SPECULATING = ("--set", "speculation.draft_tok=4", "--set", "speculation.accept=0.9")
SPECULATING_FAR = ("--set", "speculation.draft_tok=15", "--set", "speculation.accept=0.95")
EVENTS_TOGETHER = ("--fault", "coalesce:events=5")  # a step of 5 tokens, an event each, one write
SHORT = "mock"
LONG = "m" * 700  # each event names the model: under 5 of them fill nginx's 4 KB


@contextmanager
def served(proxy: str, options: tuple[str, ...], model: str) -> Iterator[str]:
    """The URL of a mock with these options, behind nginx where `proxy` is on or off."""
    slow = ("--set", "decode.a_s=0.01")  # blocks stay apart on a busy machine
    with start_mock("--profile", "small", "--set", f"model={model}", *slow, *options) as mock:
        behind = nullcontext(mock) if proxy == "none" else nginx_proxy(mock.url, buffering=proxy)  # type: ignore[arg-type]
        with behind as front:
            yield front.url


def measured(url: str, model: str, out: Path) -> Summary:
    """The summary of 12 answers of 96 tokens, four at a time."""
    words = ["run", url, "-m", model, "--no-preflight", "--load", "closed:4", "-n", 12]
    words += ["--isl", 64, "--osl", 96, "--ignore-eos", "--warmup", 0, "--quiet", "--out", out]
    with running(*words) as process:
        done = finish(process, out)
    assert done.code == 0, done.stderr
    return summarise(read_recording(done.folder))


def buffered(summary: Summary) -> bool:
    return any(finding.code == "buffered" for finding in summary.findings)


@pytest.mark.parametrize(
    ("options", "model"),
    [(PLAIN, SHORT), (PLAIN, LONG), (SPECULATING, SHORT)],
    ids=["plain", "long events", "speculating"],
)
def test_nginx_with_buffering_on_takes_latency_away(
    options: tuple[str, ...], model: str, tmp_path: Path
) -> None:
    with served("on", options, model) as url:
        summary = measured(url, model, tmp_path)

    assert buffered(summary)
    assert summary.points[0].whole["tpot_s.p50"].value is None
    assert summary.points[0].whole["e2e_s.p50"].value is not None


@pytest.mark.parametrize(
    ("proxy", "options", "model"),
    [
        ("none", PLAIN, LONG),
        ("none", SPECULATING_FAR, SHORT),
        ("none", EVENTS_TOGETHER, SHORT),
        ("none", EVENTS_TOGETHER, LONG),
        ("off", SPECULATING, SHORT),
    ],
    ids=["long events", "speculating far", "events together", "long together", "nginx off"],
)
def test_a_stream_that_nobody_holds_back_keeps_its_latency(
    proxy: str, options: tuple[str, ...], model: str, tmp_path: Path
) -> None:
    with served(proxy, options, model) as url:
        summary = measured(url, model, tmp_path)

    assert not buffered(summary)
