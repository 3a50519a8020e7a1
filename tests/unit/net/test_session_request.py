"""Requests in the way of plugins, answered by ``responses`` where no connection matters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import responses

from getmodules.api import Blob, Credential, HttpAnswer, HttpSession, Secret
from getmodules.errors import AddressError, AuthenticationError, LimitExceededError, NetworkError, UnsafeContentError
from getmodules.net.session import Session
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.net.wire import Wire
from tests.support.contexts import QUICK, a_context
from tests.support.refusals import refusal
from tests.support.servers import serving

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
