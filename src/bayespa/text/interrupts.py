"""Signals that stop a program only where nothing is lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(BaseException):
    """The process was asked to stop; what it has learned is complete.

    >>> Interrupted(signal.SIGINT).exit_code
    130
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number
        self.exit_code = 128 + number


class Interrupts:
    """Lets signals stop a program only while it waits for input, so that no step is interrupted."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self._waiting = False
        self._pending: int | None = None
        self._insisted = False
        self._ended = threading.Event()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._insisted = self.pending
        self._pending = number
        if self._waiting:
            raise Interrupted(number)

    @contextmanager
    def meanwhile(self, action: Callable[[], None], seconds: float | None) -> Iterator[None]:
        """Call `action` every so many seconds while the program waits for input in this block.

        A timer signal does it, and reading continues afterwards: nothing is lost.
        """
        if seconds is None:
            yield
            return

        def handle(number: int, frame: FrameType | None) -> None:
            if self._waiting:
                self._waiting = False  # a signal that comes now acts when everything is written
                try:
                    action()
                finally:
                    self._waiting = True
                self.check()

        before = signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Install the signal handlers."""
        before = {number: signal.signal(number, self._handle) for number in self.SIGNALS}
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        told = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self._ended.clear()
        thread = threading.Thread(target=self._insist, args=(reader, threading.get_ident()), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            signal.set_wakeup_fd(told)
            os.close(writer)
            thread.join()
            os.close(reader)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _insist(self, reader: int, thread: int) -> None:
        """Send a signal again, as long as `thread` keeps waiting.

        Python runs handlers between two bytecodes. A signal that comes just before a call that waits for
        input, or that the system gives to another thread, does not end the wait.
        """
        for number in iter(lambda: os.read(reader, 1), b""):
            while number[0] in self.SIGNALS and not self._ended.wait(0.2):
                if self._waiting:
                    signal.pthread_kill(thread, number[0])

    @property
    def pending(self) -> bool:
        """Whether a signal has come."""
        return self._pending is not None

    @property
    def insisted(self) -> bool:
        """Whether a second signal has come."""
        return self._insisted

    def check(self) -> None:
        """Raise `Interrupted` if a signal has come."""
        if self._pending is not None:
            raise Interrupted(self._pending)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Let signals act in this block, and those that came before it."""
        self._waiting = True
        try:
            self.check()
            yield
        finally:
            self._waiting = False
