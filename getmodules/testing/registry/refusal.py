"""Refusals as the distribution specification words them: a status, a code, and a JSON body."""

from __future__ import annotations

from typing import final

from getmodules.testing.registry.wire import Answer


@final
class RefusalError(Exception):
    """Raised by whoever finds that a request cannot be served; becomes an answer in one place."""

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
