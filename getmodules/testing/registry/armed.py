"""Which fault is on, and for how many requests."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from getmodules.errors import ConfigError
from getmodules.testing.faults import FAULTS
from getmodules.testing.misbehaviour.fault import Fault
from getmodules.testing.registry.exchange import Exchange
from getmodules.testing.registry.names import KINDS, Kind


class Armed:
    """A fault that is on. ``used`` counts the requests that met it; leaving ``with`` ends it."""

    def __init__(self, arsenal: Arsenal, fault: Fault, times: int | None, on: Kind | None, to: str | None) -> None:
        self._arsenal = arsenal
        self.fault = fault
        self.times, self.on, self.to = times, on, to
        self.used = 0

    def meets(self, exchange: Exchange) -> bool:
        if self.times is not None and self.used >= self.times:
            return False
        if self.on is not None:
            return exchange.route.kind == self.on
        return self.fault.is_about(exchange)

    def end(self) -> None:
        self._arsenal.disarm(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


class Arsenal:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._armed: Armed | None = None

    def arm(self, name: str, *, times: int | None, on: Kind | None, to: str | None) -> Armed:
        fault = FAULTS.get(name)
        if fault is None:
            raise ConfigError(f"there is no fault named {name!r}", hint="they are listed by --list-faults")
        if on is not None and on not in KINDS:
            raise ConfigError(f"there are no requests of the kind {on!r}", hint=f"kinds: {', '.join(KINDS)}")
        if times is not None and times < 1:
            raise ConfigError(f"a fault happens at least once, not {times} times")
        armed = Armed(self, fault, times, on, to)
        with self._lock:
            self._armed = armed
        return armed

    def disarm(self, armed: Armed | None = None) -> None:
        """End this fault if it is the one that is on; whichever is, without one."""
        with self._lock:
            if armed is None or self._armed is armed:
                self._armed = None

    def perform(self, exchange: Exchange) -> None:
        """Answer a request: rightly, or as the fault that is on has it."""
        with self._lock:
            armed = self._armed
            if armed is None or not armed.meets(exchange):
                armed = None
            else:
                armed.used += 1
                exchange.number = armed.used
        if armed is None:
            exchange.send(exchange.answer())
            return
        if armed.to is not None:
            exchange.elsewhere = armed.to.rstrip("/")
        armed.fault.perform(exchange)
