"""Faults, and the decorator that makes one of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType

from getmodules.testing.registry.names import Kind
from getmodules.testing.registry.server import Exchange
from getmodules.util.values import valueclass

Perform = Callable[[Exchange], None]
Concerns = Callable[[Exchange], bool]


@valueclass(kw_only=False)
class Fault:
    """A named way to answer wrongly, and the requests that it is about."""

    name: str
    summary: str
    is_about: Concerns
    perform: Perform


def is_any(exchange: Exchange) -> bool:
    """Return True: the fault is about every request."""
    return True


def reads(*kinds: Kind) -> Concerns:
    """Return a test for GET requests of these kinds."""
    return lambda exchange: exchange.request.method == "GET" and exchange.route.kind in kinds


def kinds(*wanted: Kind) -> Concerns:
    """Return a test for requests of these kinds."""
    return lambda exchange: exchange.route.kind in wanted


def fault(name: str, about: Concerns = is_any) -> Callable[[Perform], Fault]:
    """Return a decorator that makes a fault of a function, whose docstring is the summary that people see."""

    def make(perform: Perform) -> Fault:
        summary = " ".join((perform.__doc__ or "").split())
        assert summary, f"the fault {name} does not say what it does"
        return Fault(name, summary, about, perform)

    return make


def faults_of(*modules: ModuleType) -> Iterator[Fault]:
    """Yield the faults of modules, in their order."""
    for module in modules:
        yield from (value for value in vars(module).values() if isinstance(value, Fault))
