import signal
import subprocess
import sys

from loadgen.measure.conductor import children_deaf_to_interrupts

INTERRUPTED_EARLY = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('alive')"


def test_children_outlive_a_ctrl_c_that_comes_while_they_start() -> None:
    with children_deaf_to_interrupts():
        child = subprocess.run(
            [sys.executable, "-c", INTERRUPTED_EARLY], capture_output=True, text=True, check=False
        )
    assert child.stdout == "alive\n"


def test_the_parent_hears_ctrl_c_again_once_they_are_started() -> None:
    with children_deaf_to_interrupts():
        pass
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())
