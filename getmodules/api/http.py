"""HTTP for plugins: what ``context.network.session()`` returns, and what that answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from getmodules.api.ports import Context, Credential


class HttpAnswer(Protocol):
    """The answer of a server. Read it to the end, or close it; it may be the ``chunks`` of a ``Blob`` as it is."""

    @property
    def status(self) -> int: ...

    @property
    def url(self) -> str:
        """The address that answered, after all redirects."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; names are compared without regard to case."""

    @property
    def length(self) -> int | None:
        """The announced length of the body; ``None`` where the body itself says when it ends."""

    def read(self, limit: int = ...) -> bytes:
        """Return the whole body; more than ``limit`` bytes (1 MiB) are an error."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the body as it arrives; more or fewer bytes than announced are an error."""

    def close(self) -> None:
        """Let go of the connection; may be called more than once."""


class HttpSession(Protocol):
    """HTTP with the client's settings: certificates, proxies, retries, redirects, deadlines."""

    def request(
        self,
        method: str,
        url: str,
        context: Context,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        credential: Credential | None = None,
        accept: Collection[int] = (),
    ) -> HttpAnswer:
        """Send a request and return the answer, whose status is 2xx or one of ``accept``; another one is an error.

        ``credential`` is shown to the origin of ``url`` alone, and masked in messages; ``headers`` go wherever a
        redirect leads, so they are not for secrets.
        """
