"""Connect to a host by name, within one time for all of it: the look-up, and each address that it gives."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

_TICK_SECONDS = 0.1
#: Of several addresses, none but the last gets more than this part of the time that is left: the first may be one that
#: is not routed here, as with a broken IPv6.
_SHARE = 0.5

#: What ``socket.getaddrinfo`` returns.
Addresses = list[tuple[Any, ...]]


def connect(
    host: str,
    port: int,
    left: Callable[[], float],
    checkpoint: Callable[[], None],
    check_address: Callable[[str], None] | None,
) -> socket.socket:
    """Return a connection to an address that passed the check, not to whatever the name means a moment later.

    ``left`` returns the seconds that are left. Raises ``OSError``, and what ``checkpoint`` and the check raise.
    """
    failed: OSError | None = None
    addresses = look_up(host, port, left, checkpoint)
    for number, (family, kind, protocol, _, address) in enumerate(addresses, 1):
        if check_address is not None:
            check_address(str(address[0]))
        connected = socket.socket(family, kind, protocol)
        try:
            # Never zero, which would mean not to wait at all.
            connected.settimeout(max(0.001, left() * (1 if number == len(addresses) else _SHARE)))
            connected.connect(address)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connected
        except OSError as error:
            connected.close()
            failed = error
            checkpoint()
        except BaseException:
            connected.close()
            raise
    raise failed or OSError(f"no address for {host}")


def look_up(host: str, port: int, left: Callable[[], float], checkpoint: Callable[[], None]) -> Addresses:
    """Return the addresses of ``host``; raise ``TimeoutError`` where no name server answers in time."""
    if is_address(host):
        return _ask(host, port)
    # The system waits long for a silent name server, and cannot be interrupted: so a thread asks.
    answer: SimpleQueue[Addresses | Exception] = SimpleQueue()
    threading.Thread(target=_answer, args=(host, port, answer), name="getmodules-names", daemon=True).start()
    while True:
        try:
            found = answer.get(timeout=_TICK_SECONDS)
        except Empty:
            checkpoint()
            if left() <= 0:
                raise TimeoutError("no name server answers") from None
            continue
        if isinstance(found, Exception):
            raise found
        return found


def _answer(host: str, port: int, answer: SimpleQueue[Addresses | Exception]) -> None:
    try:
        answer.put(_ask(host, port))
    except (OSError, ValueError) as error:
        answer.put(error)


def _ask(host: str, port: int) -> Addresses:
    # For a str, Python loads the tables of international names, even if it is ASCII.
    name = host.encode() if host.isascii() else host
    return socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)


def is_address(host: str) -> bool:
    """Return whether ``host`` is an address and not a name."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
