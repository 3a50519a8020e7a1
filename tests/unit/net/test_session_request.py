"""Requests in the way of plugins, answered by ``responses`` where no connection matters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import responses

from getmodules.api import Blob, Credential, HttpAnswer, HttpDownload, HttpSession, Secret
from getmodules.errors import (
    AddressError,
    AuthenticationError,
    GetModulesError,
    LimitExceededError,
    NetworkError,
    NotFoundError,
    UnsafeContentError,
)
from getmodules.net.session import Session
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.net.wire import Wire
from getmodules.util.values import replace
from tests.support.contexts import QUICK, a_context
from tests.support.refusals import refusal
from tests.support.servers import Connection, Received, serving

URL = "https://modules.example/vpc.json"
TOKEN = Credential(secret=Secret("s3cret-t0ken"), found_in="a test")


@pytest.fixture
def session() -> Iterator[HttpSession]:
    wire = Wire(QUICK)
    yield Session(wire)
    wire.close()


@pytest.fixture
def server() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock() as server:
        yield server


def test_an_answer(session: HttpSession, server: responses.RequestsMock) -> None:
    server.get(URL, body=b"the body", headers={"X-More": "1"})
    answer: HttpAnswer = session.request("GET", URL, a_context(), headers={"X-Mine": "2"})
    assert (answer.status, answer.url, answer.headers["x-more"], answer.length) == (200, URL, "1", None)
    assert answer.read() == b"the body"
    (call,) = server.calls
    assert call.request.headers["X-Mine"] == "2"
    assert "Authorization" not in call.request.headers


def test_an_answer_may_be_the_chunks_of_a_blob(session: HttpSession, server: responses.RequestsMock) -> None:
    server.get(URL, body=b"the body", auto_calculate_content_length=True)
    answer = session.request("GET", URL, a_context())
    blob = Blob(chunks=answer, size=answer.length)
    assert (blob.size, b"".join(blob.chunks)) == (8, b"the body")


def test_a_body_is_sent(session: HttpSession, server: responses.RequestsMock) -> None:
    server.post(URL, status=201)
    assert session.request("POST", URL, a_context(), body=b"question").status == 201
    assert server.calls[0].request.body == b"question"


def test_a_credential_is_for_one_origin(session: HttpSession, server: responses.RequestsMock) -> None:
    server.get(URL, status=302, headers={"Location": "https://files.example/vpc"})
    server.get("https://files.example/vpc", body=b"x")
    session.request("GET", URL, a_context(), credential=TOKEN).close()
    asked, sent_on = (call.request.headers for call in server.calls)
    assert asked["Authorization"] == "Bearer s3cret-t0ken"
    assert "Authorization" not in sent_on


def test_a_credential_is_masked(session: HttpSession, server: responses.RequestsMock) -> None:
    server.get(URL, status=401, body=b"not with s3cret-t0ken")
    error = refusal(AuthenticationError, "authentication", session.request, "GET", URL, a_context(), credential=TOKEN)
    assert "s3cret-t0ken" not in f"{error.message} {error.hint}"
    assert "were refused" in (error.hint or "")


def test_a_status_that_is_accepted(session: HttpSession, server: responses.RequestsMock) -> None:
    server.get(URL, status=404, body=b"none")
    answer = session.request("GET", URL, a_context(), accept=(404,))
    assert (answer.status, answer.read()) == (404, b"none")


def test_it_is_asked_again(session: HttpSession, server: responses.RequestsMock) -> None:
    server.get(URL, status=503)
    server.get(URL, body=b"x")
    assert session.request("GET", URL, a_context()).read() == b"x"


def test_a_body_that_ends_too_early(session: HttpSession, server: responses.RequestsMock) -> None:
    server.get(URL, body=b"short", headers={"Content-Length": "9"})
    refusal(NetworkError, "network", session.request("GET", URL, a_context()).read)


def test_a_body_that_is_too_large(session: HttpSession, server: responses.RequestsMock) -> None:
    server.get(URL, body=b"x" * 100)
    refusal(LimitExceededError, "limit-exceeded/metadata", session.request("GET", URL, a_context()).read, 99)


@pytest.mark.parametrize("url", ["ftp://modules.example/x", "modules.example/x", "https://a b/"])
def test_another_scheme_or_no_url(session: HttpSession, url: str) -> None:
    refusal(AddressError, "address", session.request, "GET", url, a_context())


def test_a_redirect_further_into_a_network_is_refused(session: HttpSession) -> None:
    def answer(connection, _):  # type: ignore[no-untyped-def]
        connection.reply("302 Found", b"", Location="http://169.254.169.254/")

    with serving(answer) as server:
        refusal(UnsafeContentError, "unsafe-content/elsewhere", session.request, "GET", f"{server.url}/x", a_context())


@pytest.mark.parametrize("name", ["Authorization", "cookie", "Host", "Transfer-Encoding", "content-length"])
def test_headers_that_would_travel_or_frame_the_request_are_refused(session: HttpSession, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} is not a header"):
        session.request("GET", URL, a_context(), headers={name: "s3cr3t"})


def test_a_body_that_is_not_bytes_is_refused(session: HttpSession) -> None:
    with pytest.raises(TypeError, match="body is str, not bytes"):
        session.request("POST", URL, a_context(), body="text")  # type: ignore[arg-type]


def test_a_credential_goes_nowhere_without_tls_by_a_manifests_word(server: responses.RequestsMock) -> None:
    network = ClientNetwork(NetSettings(credentials_in_clear=frozenset({"mine.example"})))
    session = network.session()
    ask = session.request
    error = refusal(
        AuthenticationError, "authentication", ask, "GET", "http://h.example:81/", a_context(), credential=TOKEN
    )
    assert "--plain-http h.example:81" in str(error.typed_hint)
    assert "s3cret-t0ken" not in f"{error.message} {error.hint}"
    assert len(server.calls) == 0
    server.get("http://mine.example/", body=b"x")
    server.get("http://h.example/", body=b"x")
    ask("GET", "http://mine.example/", a_context(), credential=TOKEN).close()
    ask("GET", "http://h.example/", a_context()).close()
    network.close()


# -------------------------------------------------------------------------------- headers for one origin alone

SIGNATURE = {"X-Signature": Secret("s1gnature-0f-mine")}


def test_a_secret_header_is_for_one_origin(session: HttpSession, server: responses.RequestsMock) -> None:
    server.get(URL, status=302, headers={"Location": "https://files.example/vpc"})
    server.get("https://files.example/vpc", body=b"x")
    session.request("GET", URL, a_context(), secret_headers={**SIGNATURE, "Authorization": Secret("Mine abc-d3f")})
    first, second = (call.request.headers for call in server.calls)
    assert (first["X-Signature"], first["Authorization"]) == ("s1gnature-0f-mine", "Mine abc-d3f")
    assert "X-Signature" not in second
    assert "Authorization" not in second


def test_a_secret_header_is_masked(session: HttpSession, server: responses.RequestsMock) -> None:
    server.get(URL, status=403, body="no s1gnature-0f-mine here")
    error = refusal(
        AuthenticationError,
        "authentication/forbidden",
        session.request,
        "GET",
        URL,
        a_context(),
        secret_headers=SIGNATURE,
    )
    assert "s1gnature-0f-mine" not in str(error)


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        pytest.param({"secret_headers": {"X-A": "text"}}, TypeError, "'X-A'] is str, not Secret", id="no Secret"),
        pytest.param({"secret_headers": {"Host": Secret("h")}}, ValueError, "Host", id="Host"),
        pytest.param({"secret_headers": {"X-A": Secret("s3cret\n")}}, ValueError, "printable", id="a line end"),
        pytest.param({"secret_headers": {"Proxy-Authorization": Secret("h")}}, ValueError, "Proxy", id="a proxy's"),
        pytest.param({"headers": {"Cookie": "a=b"}}, ValueError, "secret_headers=", id="a cookie for everybody"),
        pytest.param(
            {"secret_headers": {"authorization": Secret("h")}, "credential": TOKEN}, ValueError, "both", id="twice"
        ),
    ],
)
def test_headers_that_are_refused(
    session: HttpSession, given: dict[str, Any], kind: type[Exception], words: str
) -> None:
    for ask in (partial(session.request, "GET"), session.download):
        with pytest.raises(kind, match=re.escape(words)) as caught:
            ask(URL, a_context(), **given)
        assert "s3cret" not in str(caught.value)


def test_a_secret_header_is_a_credential_where_none_may_go_without_tls() -> None:
    wire = Wire(replace(QUICK, credentials_in_clear=frozenset()))
    session = Session(wire)
    with responses.RequestsMock() as server:  # which is not asked
        for ask in (partial(session.request, "GET"), session.download):
            with pytest.raises(AuthenticationError) as caught:
                ask("http://modules.example/x", a_context(), secret_headers=SIGNATURE)
            assert "s1gnature" not in str(caught.value)
        assert len(server.calls) == 0
    wire.close()


# ------------------------------------------------------------------------------------------------- downloads

BODY = bytes(range(256)) * 400


def _cut_once(tag: str, seen: list[dict[str, str]]) -> Callable[[Connection, Received], bool]:
    """Cut the first body in the middle, and send the rest to whoever asks for it."""

    def answer(connection: Connection, request: Received) -> bool:
        seen.append(dict(request.headers))
        start = int(request.headers["Range"].removeprefix("bytes=").removesuffix("-")) if len(seen) > 1 else 0
        status = "206 Partial Content" if start else "200 OK"
        span = f"Content-Range: bytes {start}-{len(BODY) - 1}/{len(BODY)}\r\n" if start else ""
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(BODY) - start}\r\nContent-Type: application/zip\r\n"
        connection.send(f"{head}ETag: {tag}\r\n{span}\r\n")
        connection.send(BODY[start:] if start else BODY[: len(BODY) // 2])
        return bool(start)

    return answer


@pytest.mark.parametrize(
    ("tag", "immutable", "validator"),
    [
        pytest.param('"v1"', False, {"ETag": '"v1"'}, id="with a strong tag"),
        pytest.param('W/"v1"', True, {}, id="of an immutable address"),
    ],
)
def test_a_download_goes_on_where_it_broke_off(
    session: HttpSession, tag: str, immutable: bool, validator: dict[str, str]
) -> None:
    seen: list[dict[str, str]] = []
    with serving(_cut_once(tag, seen)) as server:
        download: HttpDownload = session.download(
            f"{server.url}/x", a_context(), headers={"X-Mine": "2"}, secret_headers=SIGNATURE, immutable=immutable
        )
        blob = Blob(chunks=download, size=download.size, validator=download.validator, rest=download.rest)
        assert download.headers["Content-Type"] == "application/zip"
        assert (b"".join(blob.chunks), blob.size, blob.validator) == (BODY, len(BODY), validator)
        download.close()
    assert [headers.get("Range") for headers in seen] == [None, f"bytes={len(BODY) // 2}-"]
    assert {(headers["X-Mine"], headers["X-Signature"]) for headers in seen} == {("2", "s1gnature-0f-mine")}


def test_what_another_run_left_is_gone_on_with(session: HttpSession) -> None:
    seen: list[dict[str, str]] = []
    with serving(_cut_once('"v1"', seen)) as server:
        download = session.download(f"{server.url}/x", a_context())
        rest = download.rest(1000)
        assert rest is not None
        assert b"".join(rest) == BODY[1000:]


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        pytest.param(404, NotFoundError, "not-found", id="not there"),
        pytest.param(401, AuthenticationError, "authentication", id="not allowed"),
        pytest.param(204, NetworkError, "network", id="no body"),
        pytest.param(206, NetworkError, "network", id="a part that nobody asked for"),
    ],
)
def test_a_download_that_is_refused(
    session: HttpSession, server: responses.RequestsMock, status: int, kind: type[GetModulesError], code: str
) -> None:
    server.get(URL, status=status)
    refusal(kind, code, session.download, URL, a_context())


def test_a_validator_that_repeats_a_secret_is_not_kept(session: HttpSession, server: responses.RequestsMock) -> None:
    server.get(URL, body=b"x", headers={"ETag": '"s1gnature-0f-mine"'})
    assert session.download(URL, a_context(), secret_headers=SIGNATURE).validator == {}
