"""Requests as they came in, answers as they will go out, and refusals with the specification's codes.

An :class:`Answer` is a value. Nothing of it is sent before a fault has had the chance to make it wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, Self, final
from urllib.parse import parse_qs, unquote, urlsplit

from getmodules.util.values import field, replace, valueclass

PIECE = 1 << 20
#: Answers that have neither a body nor a length.
BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})


@valueclass(kw_only=False)
class Body:
    """A body of known length, whose bytes are made anew each time they are sent."""

    length: int
    pieces: Callable[[], Iterator[bytes | memoryview]]

    @classmethod
    def of(cls, data: bytes, start: int = 0, stop: int | None = None) -> Self:
        view = memoryview(data)[start:stop]
        return cls(len(view), lambda: (view[at : at + PIECE] for at in range(0, len(view), PIECE)))

    @classmethod
    def of_file(cls, path: Path, start: int, stop: int) -> Self:
        def pieces() -> Iterator[bytes]:
            left = stop - start
            with path.open("rb") as file:
                file.seek(start)
                while left and (piece := file.read(min(PIECE, left))):
                    left -= len(piece)
                    yield piece

        return cls(stop - start, pieces)

    def read(self) -> bytes:
        return b"".join(self.pieces())


EMPTY = Body.of(b"")


@valueclass(kw_only=False)
class Answer:
    """The answer to a request."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: Body = EMPTY

    @classmethod
    def of_json(cls, status: int, value: object, headers: tuple[tuple[str, str], ...] = ()) -> Self:
        data = json.dumps(value, separators=(",", ":")).encode()
        return cls(status, (("Content-Type", "application/json"), *headers), Body.of(data))

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def with_header(self, name: str, value: str | None) -> Self:
        """Return the answer with this one value for a header, or without the header for None."""
        kept = tuple(pair for pair in self.headers if pair[0].lower() != name.lower())
        return replace(self, headers=kept if value is None else (*kept, (name, value)))

    def with_body(self, data: bytes) -> Self:
        return replace(self, body=Body.of(data))

    def head(self) -> bytes:
        """Return status line and headers. The length is the body's, unless the headers have another one."""
        try:
            phrase = HTTPStatus(self.status).phrase
        except ValueError:
            phrase = "Odd"
        lines = [f"HTTP/1.1 {self.status} {phrase}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.status >= 200 and self.status not in BODILESS and self.header("Content-Length") is None:
            lines.append(f"Content-Length: {self.body.length}")
        return "\r\n".join((*lines, "", "")).encode("latin-1", "replace")


class RequestBody(Protocol):
    """The body of a request, read piece by piece; ``b""`` is its end."""

    def read(self, size: int) -> bytes: ...


@valueclass(kw_only=False)
class Request:
    """One request. Tests get the same value afterwards; its body has been read by then."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: RequestBody = field(repr=False, compare=False)
    path: str = field(init=False)
    query: Mapping[str, tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        split = urlsplit("http://localhost" + self.target if self.target.startswith("/") else self.target)
        parsed = parse_qs(split.query, keep_blank_values=True)
        object.__setattr__(self, "headers", MappingProxyType({k.lower(): v for k, v in self.headers.items()}))
        object.__setattr__(self, "path", unquote(split.path))
        object.__setattr__(self, "query", MappingProxyType({key: tuple(value) for key, value in parsed.items()}))

    def header(self, name: str) -> str | None:
        return self.headers.get(name.lower())

    def argument(self, name: str) -> str | None:
        """Return the first value of a query argument, or None."""
        return next(iter(self.query.get(name, ())), None)

    def read_all(self, limit: int) -> bytes | None:
        """Return the whole body, or None if it is longer than ``limit``."""
        data = bytearray()
        while piece := self.body.read(PIECE):
            data += piece
            if len(data) > limit:
                return None
        return bytes(data)


@final
class RefusalError(Exception):
    """A request cannot be served. One place turns this into an answer."""

    def __init__(
        self, status: int, code: str, message: str, *, detail: object = None, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.detail, self.headers = detail, headers

    def answer(self) -> Answer:
        error = {"code": self.code, "message": self.message, "detail": self.detail}
        return Answer.of_json(self.status, {"errors": [error]}, self.headers)


def blob_unknown(digest: object) -> RefusalError:
    return RefusalError(404, "BLOB_UNKNOWN", "blob unknown to registry", detail={"digest": str(digest)})


def manifest_unknown(reference: object) -> RefusalError:
    return RefusalError(404, "MANIFEST_UNKNOWN", "manifest unknown to registry", detail={"reference": str(reference)})


def name_unknown(name: str) -> RefusalError:
    return RefusalError(404, "NAME_UNKNOWN", "repository name not known to registry", detail={"name": name})


def digest_invalid(message: str) -> RefusalError:
    return RefusalError(400, "DIGEST_INVALID", message)


def manifest_invalid(message: str) -> RefusalError:
    return RefusalError(400, "MANIFEST_INVALID", message)


def size_invalid(message: str) -> RefusalError:
    return RefusalError(400, "SIZE_INVALID", message)


def upload_unknown(identifier: str) -> RefusalError:
    return RefusalError(404, "BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry", detail={"upload": identifier})


def unsupported(message: str) -> RefusalError:
    return RefusalError(405, "UNSUPPORTED", message)
