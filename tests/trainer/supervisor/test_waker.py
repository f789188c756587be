"""Sleeping until something happens."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from trainer.supervisor.waker import Waker

LONG_S = 20.0


@pytest.fixture
def waker() -> Iterator[Waker]:
    with Waker() as one:
        yield one


def slept(waker: Waker, seconds: float = LONG_S) -> float:
    began = time.monotonic()
    waker.sleep(seconds)
    return time.monotonic() - began


def test_nothing_happens_and_the_time_passes(waker: Waker) -> None:
    assert 0.05 <= slept(waker, 0.05) < LONG_S / 2
    assert slept(waker, -1.0) < LONG_S / 2


def test_another_thread_wakes_it_now_or_before_it_sleeps(waker: Waker) -> None:
    timer = threading.Timer(0.1, waker.wake)
    timer.start()
    assert slept(waker) < LONG_S / 2
    for _ in range(100_000):
        waker.wake()  # never blocks, however many
    while slept(waker, 0.01) < 0.01:
        pass
    assert slept(waker, 0.05) >= 0.05


def test_the_end_of_a_child_and_a_signal_wake_it(waker: Waker) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.1)"])
    assert slept(waker) < LONG_S / 2
    assert child.wait(5) == 0
    before = signal.signal(signal.SIGUSR2, lambda number, frame: None)
    try:
        threading.Timer(0.1, signal.raise_signal, [signal.SIGUSR2]).start()
        assert slept(waker) < LONG_S / 2
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_afterwards_the_signals_are_as_they_were() -> None:
    before = signal.getsignal(signal.SIGCHLD)
    with Waker():
        assert signal.getsignal(signal.SIGCHLD) is not before
    assert signal.getsignal(signal.SIGCHLD) is before
    assert signal.set_wakeup_fd(-1) == -1
