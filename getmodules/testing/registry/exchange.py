"""One request and what is done about it: the value that a fault is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from getmodules.testing.registry.connection import Connection, ConnectionOverError, Incoming
from getmodules.testing.registry.names import Route
from getmodules.testing.registry.wire import Answer, Request
from getmodules.util.values import replace


class Exchange:
    """The right answer comes from :meth:`answer`; :meth:`send` sends that or a worse one; or use the bare wire."""

    def __init__(
        self, incoming: Incoming, route: Route, origin: str, connection: Connection, right: Callable[[Request], Answer]
    ) -> None:
        self.request: Request = incoming.request
        self.route = route
        self.origin = origin
        self.wire = connection
        self._incoming = incoming
        self._right = right
        self.is_over = incoming.is_last
        #: How many requests have met the fault, this one included.
        self.number = 0
        #: Where hostile answers point; the origin of a fault's ``to``.
        self.elsewhere = "https://elsewhere.invalid"

    def answer(self) -> Answer:
        """The right answer. It is made now, so what it changes is changed."""
        return self._right(self.request)

    def whole_answer(self) -> Answer:
        """The right answer to the same request without its ``Range``."""
        headers = {name: value for name, value in self.request.headers.items() if name != "range"}
        return self._right(replace(self.request, headers=headers))

    def send(self, answer: Answer) -> None:
        self.finish_request()
        if self.is_over:
            answer = answer.with_header("Connection", "close")
        self.wire.send_answer(answer, bodiless=self.request.method == "HEAD")

    def finish_request(self) -> None:
        """Read what is left of the request: an answer that overtakes a body may be lost with the connection."""
        if not self._incoming.body.drained():
            self.is_over = True

    def end(self) -> NoReturn:
        """Close the connection in the ordinary way."""
        raise ConnectionOverError
