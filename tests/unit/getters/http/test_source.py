"""What one address of the web is answered with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from getmodules import (
    AuthenticationError,
    Blob,
    Elsewhere,
    GetModulesError,
    NetworkError,
    NotFoundError,
    PackageAddress,
    UnsafeContentError,
    UnsupportedContentError,
)
from getmodules.addresses.grammar import parse
from getmodules.api.model import Shape, Unchanged
from getmodules.getters.http.source import WebSource
from getmodules.net.settings import ClientNetwork
from tests.support.contexts import QUICK, a_context
from tests.support.fakes import ZIP
from tests.support.refusals import refusal, words_of
from tests.support.servers import Answer, Connection, Received, Server, replying, serving


@contextmanager
def asking(answer: Answer) -> Iterator[tuple[Server, Any]]:
    """A server, and a function that asks it for an address."""
    network = ClientNetwork(QUICK)

    def ask(address: str, shape: Shape = Shape.PACKAGE, **more: Any) -> Blob | Elsewhere | Unchanged:
        source = parse(address)
        package = PackageAddress(getter="http", url=source.body, arguments=source.arguments)
        return WebSource(package, source.subdir, a_context(network=network, shape=shape, **more)).result()

    try:
        with serving(answer) as server:
            yield server, ask
    finally:
        network.close()


def read(blob: Any) -> bytes:
    assert type(blob) is Blob
    return b"".join(blob.chunks)


@pytest.mark.parametrize(
    ("address", "shape", "target"),
    [
        ("", Shape.ARCHIVE, "/"),
        ("/a.zip", Shape.ARCHIVE, "/a.zip"),
        ("/a%20b.zip?x=1&y=%2F", Shape.ARCHIVE, "/a%20b.zip?x=1&y=%2F"),
        ("/sums", Shape.FILE, "/sums"),
        ("/a", Shape.PACKAGE, "/a?terraform-get=1"),
        ("/a?x=1", Shape.PACKAGE, "/a?x=1&terraform-get=1"),
        ("/a?terraform-get=1", Shape.PACKAGE, "/a?terraform-get=1"),
    ],
)
def test_what_is_asked_for(address: str, shape: Shape, target: str) -> None:
    with asking(replying("200 OK", ZIP)) as (server, ask):
        assert read(ask(f"{server.url}{address}", shape)) == ZIP
        assert [request.target for request in server.received] == [target]
        assert server.received[0].headers["Accept-Encoding"] == "identity"


def test_a_blob_says_what_is_known_of_it() -> None:
    headers = {"Content_Type": "Application/ZIP; x=y", "Content_Disposition": 'attachment; filename="../evil.zip"'}
    with asking(replying("200 OK", ZIP, **headers)) as (server, ask):
        blob = ask(f"{server.url}/down%20load?id=7")
        assert (blob.name, blob.size, blob.media_type, blob.digests) == ("down load", len(ZIP), "application/zip", ())
        assert read(blob) == ZIP


# ------------------------------------------------------------------------------------------ "ask there instead"

META = b'<html><head><meta name="terraform-get" content="../m.zip//sub"></head></html>'


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(replying("204 No Content", X_Terraform_Get="git::https://h/r"), "git::https://h/r", id="204"),
        pytest.param(replying("200 OK", b"x", X_Terraform_Get="/m.zip"), "{server}/m.zip", id="path"),
        pytest.param(replying("200 OK", META, Content_Type="text/html"), "{server}/m.zip//sub", id="page"),
        pytest.param(
            replying("200 OK", META, Content_Type="text/HTML; charset=utf-8", X_Terraform_Get="./first"),
            "{server}/a/first",
            id="the header comes first",
        ),
    ],
)
def test_a_server_says_where_the_module_is(reply: Answer, expected: str) -> None:
    with asking(reply) as (server, ask):
        answer = ask(f"{server.url}/a/b")
        assert type(answer) is Elsewhere
        assert answer.address == expected.format(server=server.url)


@pytest.mark.parametrize(
    ("location", "code"),
    [
        pytest.param("https://h/s3cr3t/x.zip", "unsafe-content/elsewhere", id="in the path"),
        pytest.param("https://h/x.zip?a=s3cr3t", "unsafe-content/elsewhere", id="in an argument"),
        pytest.param("https://h/x.zip?token=s3cr3t", None, id="in an argument that is never shown"),
    ],
)
def test_our_own_secrets_are_no_part_of_an_address_that_is_shown(location: str, code: str | None) -> None:
    with asking(replying("204 No Content", X_Terraform_Get=location)) as (server, ask):
        source = f"{server.url.replace('://', '://ada:s3cr3t@')}/a"
        if code is None:
            assert ask(source).address == location
        else:
            assert "s3cr3t" not in words_of(refusal(UnsafeContentError, code, ask, source))


@pytest.mark.parametrize(
    ("second", "code"), [("https://h/a.zip ", None), ("https://h/b.zip", "unsafe-content/elsewhere")]
)
def test_a_location_that_is_named_twice(second: str, code: str | None) -> None:
    lines = ("HTTP/1.1 204 No Content", "X-Terraform-Get: https://h/a.zip", f"X-Terraform-Get: {second}", "", "")
    with asking(lambda connection, _: connection.send("\r\n".join(lines))) as (server, ask):
        if code is None:
            assert ask(f"{server.url}/a").address == "https://h/a.zip"
        else:
            assert "two locations" in refusal(UnsafeContentError, code, ask, f"{server.url}/a").message


def test_what_is_an_archive_by_its_name_is_no_place_to_be_sent_on_from() -> None:
    with asking(replying("200 OK", ZIP, X_Terraform_Get="/other")) as (server, ask):
        assert read(ask(f"{server.url}/a.zip", Shape.ARCHIVE)) == ZIP


def test_nobody_is_sent_further_in() -> None:
    with asking(replying("204 No Content", X_Terraform_Get="https://h/x")) as (server, ask):
        check = ask(f"{server.url}/a").check_address
        check("127.0.0.5")
        check("203.0.114.1")
        for address in ("10.0.0.1", "169.254.169.254"):
            error = refusal(UnsafeContentError, "unsafe-content/elsewhere", check, address)
            assert "write the address that it leads to" in (error.hint or "")


def test_who_was_named_is_judged_before_it_is_connected_to() -> None:
    def refuse(address: str) -> None:
        raise UnsafeContentError(f"not {address}", part="elsewhere")

    with asking(replying("200 OK", ZIP)) as (server, ask):
        refusal(UnsafeContentError, "unsafe-content/elsewhere", ask, f"{server.url}/a", check_address=refuse)
        assert server.received == []


# ------------------------------------------------------------------------------------------ what is no file


@pytest.mark.parametrize("shape", list(Shape))
@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        pytest.param("204 No Content", NetworkError, "network", id="204"),
        pytest.param("206 Partial Content", NetworkError, "network", id="206 that nobody asked for"),
        pytest.param("202 Accepted", NetworkError, "network", id="202"),
        pytest.param("304 Not Modified", NetworkError, "network", id="304 that nobody asked for"),
        pytest.param("300 Multiple Choices", NetworkError, "network", id="300"),
        pytest.param("401 Unauthorized", AuthenticationError, "authentication", id="401"),
        pytest.param("403 Forbidden", AuthenticationError, "authentication/forbidden", id="403"),
        pytest.param("404 Not Found", NotFoundError, "not-found", id="404"),
        pytest.param("410 Gone", NotFoundError, "not-found", id="410"),
        pytest.param("418 Teapot", NetworkError, "network", id="418"),
    ],
)
def test_what_brings_no_file_is_asked_for_once(
    status: str, kind: type[GetModulesError], code: str, shape: Shape
) -> None:
    with asking(replying(status)) as (server, ask):
        error = refusal(kind, code, ask, f"{server.url}/a", shape)
        assert status[:3] in error.message
        assert len(server.received) == 1


PAGE = b"<!DOCTYPE html><html><body>log in</body></html>"


@pytest.mark.parametrize("shape", [Shape.PACKAGE, Shape.ARCHIVE])
@pytest.mark.parametrize("media_type", ["text/html", "text/html; charset=utf-8", "application/zip"])
def test_a_page_where_an_archive_was_wanted(shape: Shape, media_type: str) -> None:
    with asking(replying("200 OK", PAGE, Content_Type=media_type)) as (server, ask):
        error = refusal(
            UnsupportedContentError, "unsupported-content/web-page", lambda: read(ask(f"{server.url}/a", shape))
        )
        assert media_type.partition(";")[0] in error.message


@pytest.mark.parametrize("shape", [Shape.PACKAGE, Shape.ARCHIVE])
def test_a_page_with_another_success_than_200(shape: Shape) -> None:
    with asking(replying("203 Other", PAGE, Content_Type="text/html; charset=utf-8")) as (server, ask):
        error = refusal(UnsupportedContentError, "unsupported-content/web-page", ask, f"{server.url}/a", shape)
        assert "Content-Type: text/html" in error.message
        refusal(NetworkError, "network", ask, f"{server.url}/a", Shape.FILE)


def test_a_page_that_comes_byte_by_byte() -> None:
    def answer(connection: Connection, _: Received) -> bool:
        connection.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(PAGE)}\r\n\r\n")
        for byte in PAGE:
            connection.send(bytes([byte]))
        return True

    with asking(answer) as (server, ask):
        assert read(ask(f"{server.url}/a", Shape.FILE)) == PAGE
        refusal(
            UnsupportedContentError,
            "unsupported-content/web-page",
            lambda: read(ask(f"{server.url}/a", Shape.ARCHIVE)),
        )


def test_a_page_that_is_wanted_is_a_file() -> None:
    with asking(replying("200 OK", PAGE, Content_Type="text/html")) as (server, ask):
        assert read(ask(f"{server.url}/index.html", Shape.FILE)) == PAGE


@pytest.mark.parametrize("body", [b"", b"x", b"x" * 63, b"x" * 100])
def test_short_bodies_come_whole(body: bytes) -> None:
    with asking(replying("200 OK", body)) as (server, ask):
        assert read(ask(f"{server.url}/a", Shape.ARCHIVE)) == body


# ------------------------------------------------------------------------------------------ what is shown to whom


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
def test_a_refusal_says_what_was_tried_and_what_could_be(status: str) -> None:
    def answer(connection: Connection, request: Received) -> bool:
        return connection.reply(status, b"you said " + request.headers.get("Authorization", "nothing").encode())

    with asking(answer) as (server, ask):
        code = "authentication" if status.startswith("401") else "authentication/forbidden"
        error = refusal(AuthenticationError, code, ask, f"{server.url}/a")
        variable = f"GETMODULES_TOKEN_127_0_0_1_{server.port}"
        assert f"none were found in --header, {variable}" in str(error.typed_hint)
        assert "an entry in ~/.netrc or --header 127.0.0.1:" in str(error.typed_hint)
        assert (error.credential, error.looked_in[:2]) == (None, ("--header", variable))
        with_password = server.url.replace("://", "://ada:s3cr3t%40p4ss@")
        error = refusal(AuthenticationError, code, ask, f"{with_password}/a")
        assert "to the credential of the address (user name ada)" in error.message
        assert error.credential == ("the address", "ada")
        assert "you said ****" in error.message
        assert "s3cr3t" not in words_of(error)


def test_a_refusal_behind_a_redirect_says_that_credentials_stay() -> None:
    with (
        asking(replying("401 no")) as (target, _),
        asking(replying("302 Found", Location=f"{target.url}/x")) as (server, ask),
    ):
        error = refusal(AuthenticationError, "authentication", ask, f"{server.url.replace('://', '://ada:s3cr3t@')}/a")
        assert "redirect" in str(error.hint)
        assert "Authorization" in server.received[0].headers
        assert "Authorization" not in target.received[0].headers


def test_a_signed_address_is_sent_as_it_is_where_the_format_is_said() -> None:
    with asking(replying("403 Forbidden")) as (server, ask):
        for shape, expected in ((Shape.PACKAGE, True), (Shape.ARCHIVE, False)):
            error = refusal(
                AuthenticationError, "authentication/forbidden", ask, f"{server.url}/a?X-Amz-Signature=abcdef", shape
            )
            assert ("archive=FORMAT" in str(error.hint)) is expected


def test_the_repository_behind_a_page_that_is_not_there() -> None:
    """A private repository of a forge is a 404 to those whom it does not know."""
    with serving(replying("404 Not Found")) as proxy:
        network = ClientNetwork(replace(QUICK, proxies={"http": proxy.url}))
        package = PackageAddress(getter="http", url="http://github.com/o/r")
        source = WebSource(package, "net", a_context(network=network))
        hint = refusal(NotFoundError, "not-found", source.result).hint
        network.close()
    assert hint == "for the git repository: git::https://github.com/o/r.git//net"


# ------------------------------------------------------------------------------------------ does it still hold


THEN = "Mon, 01 Jan 2024 00:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "validator"),
    [
        pytest.param({"ETag": '"v1"'}, {"ETag": '"v1"'}, id="strong tag"),
        pytest.param({"ETag": '"v1"', "Last_Modified": "now"}, {"ETag": '"v1"'}, id="a tag beats a date"),
        pytest.param(
            {"Last_Modified": THEN, "Date": "Mon, 01 Jan 2024 00:00:01 GMT"}, {"Last-Modified": THEN}, id="date"
        ),
        pytest.param({"Last_Modified": THEN, "Date": THEN}, {}, id="a date that may be that of two files"),
        pytest.param({"ETag": 'W/"v1"', "Last_Modified": "now"}, {}, id="weak tag"),
        pytest.param({"ETag": '"' + "x" * 2000 + '"'}, {}, id="a tag without end"),
        pytest.param({"ETag": '"abcdef"'}, {}, id="a secret of ours"),
        pytest.param({"ETag": '"a\x0bb"'}, {}, id="what cannot be seen"),
        pytest.param({}, {}, id="nothing"),
    ],
)
def test_what_a_server_wants_to_hear_next_time(headers: dict[str, str], validator: dict[str, str]) -> None:
    with asking(replying("200 OK", ZIP, **headers)) as (server, ask):
        blob = ask(f"{server.url}/a?token=abcdef", Shape.ARCHIVE)
        assert dict(blob.validator) == validator
        read(blob)


def test_what_is_at_hand_is_not_sent_again() -> None:
    def answer(connection: Connection, request: Received) -> bool:
        if request.headers.get("If-None-Match") == '"v1"':
            return connection.reply("304 Not Modified")
        return connection.reply("200 OK", ZIP, ETag='"v2"')

    with asking(answer) as (server, ask):
        assert ask(f"{server.url}/a", validator=lambda package: {"ETag": '"v1"'}) == Unchanged()
        assert read(ask(f"{server.url}/a", validator=lambda package: {"ETag": '"v0"', "Other": "x"})) == ZIP
        assert "Other" not in server.received[1].headers
