"""work_dir/interrupts: signals wait for a point where nothing gets lost."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from opencompass_tooleval.work_dir.interrupts import Interrupts


def send(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(0.01)  # Python calls handlers between its own steps


def test_a_signal_waits_for_a_check_and_is_obeyed_once() -> None:
    with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts:
        send(signal.SIGINT)
        interrupts.check()
        raise AssertionError
    with pytest.raises(KeyboardInterrupt), Interrupts():
        send(signal.SIGINT)
    with Interrupts() as interrupts:
        send(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts.sleep(0.01)


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGHUP])
def test_a_sleep_is_cut_short_and_other_signals_end_with_the_status_of_shells(number: signal.Signals) -> None:
    threading.Timer(0.2, send, [number]).start()
    with pytest.raises(SystemExit) as ended, Interrupts() as interrupts:
        interrupts.sleep(24 * 3600)
    assert ended.value.code == 128 + number


def test_handlers_are_put_back_and_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            assert signal.getsignal(signal.SIGINT) != signal.default_int_handler
            send(signal.SIGHUP)
            interrupts.check()
        assert signal.getsignal(signal.SIGINT) == signal.default_int_handler
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_are_left_alone() -> None:
    def work() -> None:
        with Interrupts() as interrupts:
            interrupts.sleep(0.01)

    with ThreadPoolExecutor(1) as threads:
        threads.submit(work).result()
