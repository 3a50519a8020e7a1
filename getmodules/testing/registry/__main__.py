"""``python -m getmodules.testing.registry``: the registry as a program, until it is interrupted."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from getmodules.errors import ConfigError, GetModulesError
from getmodules.testing.faults.table import FAULTS
from getmodules.testing.registry.access import Access, User
from getmodules.testing.registry.call import Behaviour
from getmodules.testing.registry.server import tls_context
from getmodules.testing.registry.service import Registry


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the registry until a signal ends it; return the exit code."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if (chosen.tls_cert is None) != (chosen.tls_key is None):
        parser.error("--tls-cert and --tls-key belong together")
    try:
        if chosen.list_faults:
            width = max(map(len, FAULTS))
            _print("".join(f"{name:{width}}  {fault.summary}\n" for name, fault in FAULTS.items()))
            return 0
        registry = _registry(chosen)
        if chosen.fault is not None:
            registry.fault(chosen.fault, times=chosen.fault_times)
        told_to_end = _stop_event()
        with registry:
            _print(f"{registry.url}\n")
            while not told_to_end.wait(1):
                pass  # with a timeout, since only on POSIX a signal ends a wait without one
    except GetModulesError as error:
        sys.stderr.write(f"{error.message}\n" + (f"{error.hint}\n" if error.hint else ""))
        return error.exit_code
    return 0


def _print(text: str) -> None:
    if sys.stdout is None:
        raise ConfigError("standard output is closed")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        with suppress(OSError):  # else Python tries again at its end, and complains
            sys.stdout.close()
        raise ConfigError(f"cannot write to standard output: {error.strerror}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m getmodules.testing.registry",
        description="An OCI registry for tests, on loopback only. The first line that it prints is its address.",
    )
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes any that is free")
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address (default: %(default)s)")
    parser.add_argument("--layout", type=Path, metavar="DIR", help="keep repositories there, each an OCI layout")
    parser.add_argument("--tls-cert", type=Path, metavar="FILE", help="speak TLS with this certificate")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="the certificate's key")
    parser.add_argument("--auth", choices=("none", "basic", "bearer"), default="none", help="default: %(default)s")
    parser.add_argument(
        "--user", action="append", default=[], type=_user, metavar="NAME:PASSWORD", help="may be repeated"
    )
    parser.add_argument(
        "--public", action="append", default=[], metavar="PATTERN", help="repositories that anybody may pull from"
    )
    parser.add_argument(
        "--token-seconds", type=_at_least(0), default=300, help="the life of a token (default: %(default)s)"
    )
    parser.add_argument("--page-size", type=_at_least(1), default=1000, help="the longest page (default: %(default)s)")
    parser.add_argument("--chunk-min-length", type=_at_least(1), metavar="BYTES", help="announce and enforce it")
    parser.add_argument("--no-referrers", action="store_true", help="as registries without the referrers API")
    parser.add_argument("--no-delete", action="store_true", help="refuse to delete")
    parser.add_argument("--sparse", action="store_true", help="take manifests that name what is not here")
    parser.add_argument("--fault", choices=tuple(FAULTS), metavar="NAME", help="misbehave, see --list-faults")
    parser.add_argument("--fault-times", type=int, metavar="N", help="only for the next N requests")
    parser.add_argument("--list-faults", action="store_true", help="print every fault and what it does")
    return parser


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return number


def _user(text: str) -> tuple[str, str]:
    name, colon, password = text.partition(":")
    if not (name and colon):
        raise argparse.ArgumentTypeError("a user is written NAME:PASSWORD")
    return name, password


def _registry(chosen: argparse.Namespace) -> Registry:
    users: Mapping[str, User] = {name: User(password) for name, password in chosen.user}
    return Registry(
        host=chosen.host,
        port=chosen.port,
        layout=chosen.layout,
        tls=tls_context(chosen.tls_cert, chosen.tls_key) if chosen.tls_cert else None,
        access=Access(scheme=chosen.auth, users=users, public=tuple(chosen.public), token_seconds=chosen.token_seconds),
        behaviour=Behaviour(
            page_size=chosen.page_size,
            chunk_min_length=chosen.chunk_min_length,
            referrers_api=not chosen.no_referrers,
            deletes=not chosen.no_delete,
            sparse=chosen.sparse,
        ),
    )


def _stop_event() -> threading.Event:
    """Return an event that SIGINT and SIGTERM set from now on, instead of ending the program."""
    told = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told.set())
    return told


if __name__ == "__main__":
    sys.exit(main())
