"""Uploads against the registry of getmodules.testing, and against servers that cut them off."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from getmodules.api.ports import Context, Credential
from getmodules.errors import (
    AuthenticationError,
    DestinationExistsError,
    DigestMismatchError,
    FetchError,
    NetworkError,
    UnsafeContentError,
)
from getmodules.getters.oci.auth import Tokens
from getmodules.getters.oci.client import RegistryClient
from getmodules.getters.oci.repository import OCI_MANIFEST, RawManifest
from getmodules.getters.oci.upload import Upload
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.testing import Access, Behaviour, Registry, User
from getmodules.util.digest import Digest
from getmodules.util.redact import Secret
from tests.support.refusals import refusal
from tests.support.servers import Connection, Received, serving

pytest_plugins = ["getmodules.testing.fixtures"]

DATA = bytes(range(256)) * 400
DIGEST = Digest("sha256", hashlib.sha256(DATA).hexdigest())
SETTINGS = NetSettings(backoff_seconds=0.01, retries=3)


def client_of(url: str, credential: Credential | None = None, *, settings: NetSettings = SETTINGS) -> RegistryClient:
    session = ClientNetwork(settings).session()
    tokens = Tokens(session, lambda registry, repository, context: credential)
    return RegistryClient(url, "acme/vpc", session, tokens, lambda notice: None).for_publishing()


def upload(client: RegistryClient, context: Context, *, chunk_bytes: int) -> Upload:
    url = client._url(client._location.upload_blob_url())
    return Upload(
        partial(client.do_request, context=context),
        client._session,
        url,
        DIGEST,
        len(DATA),
        in_pieces,
        context,
        chunk_bytes=chunk_bytes,
    )


def in_pieces() -> Iterator[bytes]:
    return (DATA[at : at + 7_777] for at in range(0, len(DATA), 7_777))


def methods(registry: Registry) -> list[str]:
    return [request.method for request in registry.requests]


def test_a_blob_goes_in_one_request_and_is_there_then(oci_registry: Registry, context: Context) -> None:
    client = client_of(oci_registry.url)
    assert not client.has_blob(DIGEST, context)
    client.put_blob(DIGEST, len(DATA), in_pieces, context)
    assert client.has_blob(DIGEST, context)
    assert methods(oci_registry) == ["HEAD", "POST", "PUT", "HEAD"]
    put = oci_registry.requests[2]
    assert put.header("Content-Length") == str(len(DATA))
    assert put.header("Transfer-Encoding") is None


@pytest.mark.parametrize(
    ("least", "chunk_bytes", "patches"),
    [
        pytest.param(10_000, 50_000, 3, id="our-chunks-are-large-enough"),
        pytest.param(60_000, 50_000, 2, id="the-registry-wants-larger-ones"),
        pytest.param(200_000, 50_000, 0, id="the-blob-is-smaller-than-a-chunk"),
        pytest.param(None, 50_000, 0, id="the-registry-wants-none"),
    ],
)
def test_chunks_where_the_registry_wants_them(
    least: int | None, chunk_bytes: int, patches: int, context: Context
) -> None:
    with Registry(behaviour=Behaviour(chunk_min_length=least)) as registry:
        client = client_of(registry.url)
        upload(client, context, chunk_bytes=chunk_bytes).run(lambda _: False)
        assert methods(registry) == ["POST", *["PATCH"] * patches, "PUT"]
        assert client.has_blob(DIGEST, context)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param("503", id="not-now"),
        pytest.param("reset-before-headers", id="reset"),
        pytest.param("close-before-headers", id="closed"),
    ],
)
@pytest.mark.parametrize("least", [pytest.param(None, id="in-one"), pytest.param(10_000, id="in-chunks")])
def test_what_passes_is_tried_again(fault: str, least: int | None, context: Context) -> None:
    with Registry(behaviour=Behaviour(chunk_min_length=least)) as registry:
        client = client_of(registry.url)
        with registry.fault(fault, times=2, on="upload") as armed:
            upload(client, context, chunk_bytes=30_000).run(lambda _: client.has_blob(DIGEST, context))
            assert armed.used == 2
        assert client.has_blob(DIGEST, context)


def test_what_does_not_pass_is_given_up(oci_registry: Registry, context: Context) -> None:
    client = client_of(oci_registry.url)
    with oci_registry.fault("503", on="upload"):
        refusal(NetworkError, "network", client.put_blob, DIGEST, len(DATA), in_pieces, context)
    assert not client.has_blob(DIGEST, context)


def test_forbidden_is_not_tried_again(oci_registry: Registry, context: Context) -> None:
    client = client_of(oci_registry.url)
    with oci_registry.fault("403", on="upload") as armed:
        refusal(AuthenticationError, "authentication/forbidden", client.put_blob, DIGEST, len(DATA), in_pieces, context)
        assert armed.used == 1


def test_a_token_that_ends_in_the_middle_is_renewed(context: Context) -> None:
    access = Access(scheme="bearer", users={"ann": User("s3cret")})
    with Registry(access=access, behaviour=Behaviour(chunk_min_length=10_000)) as registry:
        credential = Credential(secret=Secret("s3cret"), username="ann", found_in="a test")
        client = client_of(registry.url, credential)
        pieces = 0

        def chunks() -> Iterator[bytes]:
            nonlocal pieces
            for piece in in_pieces():
                pieces += 1
                if pieces == 6:
                    registry.expire_tokens()
                yield piece

        url = client._url(client._location.upload_blob_url())
        request = partial(client.do_request, context=context)
        Upload(request, client._session, url, DIGEST, len(DATA), chunks, context, chunk_bytes=30_000).run(
            lambda _: False
        )
        assert client.has_blob(DIGEST, context)
        tokens = [request for request in registry.requests if request.path.startswith("/token")]
        assert len(tokens) == 2
        assert "pull%2Cpush" in str(tokens[0]) or "pull,push" in str(tokens[0])


# --------------------------------------------------------------------------- servers with ways of their own


class Stubborn:
    """Takes uploads in chunks, and does what a test wants at one of them."""

    def __init__(
        self, *, largest: int = 1 << 30, cut_at: int = -1, location: str = "relative", lies: bool = False
    ) -> None:
        self.largest, self.cut_at, self.location, self.lies = largest, cut_at, location, lies
        self.stored = b""
        self.whole: bytes | None = None
        self.seen: list[tuple[str, int]] = []
        self.authorized: list[str | None] = []

    def __call__(self, connection: Connection, request: Received) -> bool | None:
        self.seen.append((request.method, len(request.body)))
        self.authorized.append(request.headers.get("Authorization"))
        where = {"Location": self._where(request), "Range": f"0-{max(len(self.stored) - 1, 0)}"}
        if len(request.body) > self.largest:
            return connection.reply("413 Too Large")
        if request.method == "POST":
            self.stored = b""
            return connection.reply("202 Accepted", **where)
        if request.method == "PATCH":
            return self._patch(connection, request)
        if request.method == "GET":
            return connection.reply("204 No Content", **where)
        if request.method == "PUT":
            self.whole = self.stored + request.body
            said = "sha256:" + ("0" * 64 if self.lies else hashlib.sha256(self.whole).hexdigest())
            return connection.reply("201 Created", Docker_Content_Digest=said)
        return connection.reply("404 Not Found")

    def _patch(self, connection: Connection, request: Received) -> bool | None:
        start = int(request.headers["Content-Range"].partition("-")[0])
        if start != len(self.stored):
            return connection.reply("416 No", Location=self._where(request), Range=f"0-{len(self.stored) - 1}")
        if len(self.stored) <= self.cut_at < len(self.stored) + len(request.body):
            self.stored += request.body[: self.cut_at - len(self.stored)]
            self.cut_at = -1
            return connection.reset()
        self.stored += request.body
        where = {"Location": self._where(request), "Range": f"0-{len(self.stored) - 1}"}
        return connection.reply("202 Accepted", **where)

    def _where(self, request: Received) -> str:
        path = "/v2/acme/vpc/blobs/uploads/7?_state=a%20b"
        return path if self.location == "relative" else f"{self.location}{path}"


@contextmanager
def stubborn(**ways: object) -> Iterator[tuple[Stubborn, str]]:
    server = Stubborn(**ways)  # type: ignore[arg-type]
    with serving(server) as running:
        yield server, running.url


def test_a_blob_that_is_too_large_for_one_request_goes_in_chunks(context: Context) -> None:
    with stubborn(largest=40_000) as (server, url):
        upload(client_of(url), context, chunk_bytes=40_000).run(lambda _: False)
    assert server.whole == DATA
    assert [size for method, size in server.seen if method == "PATCH"] == [40_000, 40_000, len(DATA) - 80_000]


def test_what_is_too_large_even_in_chunks_is_an_error(context: Context) -> None:
    with stubborn(largest=10_000) as (server, url):
        refusal(NetworkError, "network", upload(client_of(url), context, chunk_bytes=40_000).run, lambda: False)
    assert server.whole is None


def test_a_chunk_that_was_cut_is_continued_where_the_registry_has_it(context: Context) -> None:
    with stubborn(largest=40_000, cut_at=55_555) as (server, url):
        upload(client_of(url), context, chunk_bytes=40_000).run(lambda _: False)
    assert server.whole == DATA
    assert ("GET", 0) in server.seen
    # Nothing that had arrived was sent again.
    resumed = server.seen[server.seen.index(("GET", 0)) + 1]
    assert resumed == ("PATCH", 40_000)


def test_a_registry_that_stores_something_else_is_found_out(context: Context) -> None:
    with stubborn(lies=True) as (_, url):
        refusal(
            DigestMismatchError,
            "digest-mismatch",
            upload(client_of(url), context, chunk_bytes=1 << 20).run,
            lambda: False,
        )


def test_an_upload_that_goes_on_elsewhere_takes_no_credentials_along(context: Context) -> None:
    with stubborn() as (elsewhere, other_url), stubborn(location=other_url) as (server, _):
        server_answer = server.__call__

        def with_challenge(connection: Connection, request: Received) -> bool | None:
            if "Authorization" not in request.headers:
                return connection.reply("401 Unauthorized", WWW_Authenticate='Basic realm="x"')
            return server_answer(connection, request)

        with serving(with_challenge) as guarded:
            credential = Credential(secret=Secret("s3cret"), username="ann", found_in="a test")
            upload(client_of(guarded.url, credential), context, chunk_bytes=1 << 20).run(lambda _: False)
    assert elsewhere.whole == DATA
    assert elsewhere.authorized == [None]
    assert server.authorized[0] is not None


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts that somebody tried to connect to; of them only loopback is reached."""
    hosts: list[str] = []
    connect = socket.socket.connect

    def loopback_only(self: socket.socket, address: tuple[str, int]) -> None:
        hosts.append(address[0])
        if not address[0].startswith("127."):
            raise ConnectionRefusedError(111, "Connection refused")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", loopback_only)
    return hosts


@pytest.mark.parametrize("host", ["169.254.169.254", "10.1.2.3", "[fd00::1]", "[64:ff9b::a9fe:a9fe]"])
@pytest.mark.parametrize("chunk_bytes", [pytest.param(1 << 20, id="in-one"), pytest.param(40_000, id="in-chunks")])
def test_an_upload_goes_no_further_in_than_the_registry_is(
    host: str, chunk_bytes: int, context: Context, connected: list[str]
) -> None:
    sent = upload_after_start(f"http://{host}/x", least=30_000 if chunk_bytes == 40_000 else 0)
    with serving(sent) as server:
        run = upload(client_of(server.url), context, chunk_bytes=chunk_bytes).run
        error = refusal(UnsafeContentError, "unsafe-content/elsewhere", run, lambda: False)
    assert host.strip("[]") in error.message
    assert set(connected) == {"127.0.0.1"}


def upload_after_start(location: str, *, least: int) -> Callable[[Connection, Received], bool]:
    more = {"OCI_Chunk_Min_Length": str(least)} if least else {}
    return lambda connection, _: connection.reply("202 Accepted", Location=location, **more)


@pytest.mark.parametrize(
    ("location", "kind", "code"),
    [
        pytest.param("file://", UnsafeContentError, "unsafe-content/elsewhere", id="to-a-file"),
        pytest.param(
            "http://user:pw@example.invalid", UnsafeContentError, "unsafe-content/elsewhere", id="with-a-user"
        ),
    ],
)
def test_an_upload_goes_on_by_http_only(
    location: str, kind: type[UnsafeContentError], code: str, context: Context
) -> None:
    with stubborn(location=location) as (server, url):
        refusal(kind, code, upload(client_of(url), context, chunk_bytes=1 << 20).run, lambda: False)
    assert [method for method, _ in server.seen] == ["POST"]


def test_an_upload_that_goes_nowhere_is_an_error(context: Context) -> None:
    with serving(lambda connection, request: connection.reply("202 Accepted")) as server:
        refusal(
            FetchError, "fetch/unreadable", upload(client_of(server.url), context, chunk_bytes=1).run, lambda: False
        )


# ---------------------------------------------------------------------------------------------- manifests


MANIFEST = RawManifest(
    media_type=OCI_MANIFEST,
    body=b'{"schemaVersion":2,"mediaType":"%s","config":{},"layers":[]}' % OCI_MANIFEST.encode(),
)


@pytest.mark.parametrize("status", [pytest.param("409 Conflict", id="409"), pytest.param("412 No", id="412")])
def test_a_registry_with_tags_that_do_not_move(status: str, context: Context) -> None:
    with serving(lambda connection, request: connection.reply(status, b'{"errors":[{"code":"DENIED"}]}')) as server:
        error = refusal(
            DestinationExistsError,
            "destination-exists",
            partial(client_of(server.url).put_manifest, "1.0.0", MANIFEST, context, replace=True),
        )
    assert "DENIED" in error.message


def test_a_manifest_that_is_stored_as_another_is_found_out(context: Context) -> None:
    answer: Callable[[Connection, Received], bool] = lambda connection, request: connection.reply(  # noqa: E731
        "201 Created", Docker_Content_Digest="sha256:" + "0" * 64
    )
    with serving(answer) as server:
        refusal(
            DigestMismatchError,
            "digest-mismatch",
            partial(client_of(server.url).put_manifest, "1.0.0", MANIFEST, context, replace=True),
        )


@pytest.mark.parametrize("chunk_bytes", [1 << 20, 30_000], ids=["in one", "in chunks"])
@pytest.mark.parametrize("is_silent_at", ["POST", "PUT or PATCH"])
def test_a_registry_that_falls_silent_is_waited_for_as_often_as_retries_say(
    chunk_bytes: int, is_silent_at: str, context: Context
) -> None:
    """All requests of an upload are counted together: those of its tries, and the questions between them."""
    silent = 0

    def answer(connection: Connection, request: Received) -> bool:
        nonlocal silent
        if request.method == "POST" and is_silent_at != "POST" and not silent:
            # It wants chunks where they are of the size that we would take.
            least = {"OCI_Chunk_Min_Length": "1"} if chunk_bytes == 30_000 else {}
            return connection.reply("202 Accepted", Location="/upload", **least)
        silent += 1
        connection.sleep(10)
        return False

    settings = NetSettings(timeout=0.4, retries=2, backoff_seconds=0.01)
    with serving(answer) as server:
        error = refusal(
            NetworkError, "network/timeout",
            upload(client_of(server.url, settings=settings), context, chunk_bytes=chunk_bytes).run,
            lambda left: client_of(server.url, settings=settings).has_blob(DIGEST, context, left),
        )  # fmt: skip
    assert silent == 3
    assert f"127.0.0.1:{server.port}" in error.message


def test_to_send_a_blob_in_another_way_is_not_a_retry(context: Context) -> None:
    with stubborn(largest=40_000) as (server, url):
        upload(client_of(url, settings=NetSettings(retries=0)), context, chunk_bytes=40_000).run(lambda _: False)
    assert server.whole == DATA
