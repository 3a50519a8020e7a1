"""The client of one repository: what it asks for, what it believes, and what it has left of oras-py."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from oras.provider import Registry as OrasRegistry

from getmodules.api.ports import Context, Credential
from getmodules.errors import (
    AuthenticationError,
    CorruptArchiveError,
    DestinationExistsError,
    DigestMismatchError,
    GetModulesError,
    LimitExceededError,
    NetworkError,
    NotFoundError,
    UnsafeContentError,
    UnsupportedContentError,
)
from getmodules.getters.oci.artifact import parse
from getmodules.getters.oci.auth import Tokens
from getmodules.getters.oci.client import RegistryClient
from getmodules.getters.oci.repository import MANIFEST_BYTES, OCI_INDEX, OCI_MANIFEST, Descriptor, RawManifest
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.testing import Access, Behaviour, Registry, User, artifact, module_package
from getmodules.util.digest import Digest
from getmodules.util.redact import Secret
from tests.support.refusals import refusal, words_of
from tests.support.servers import Answer, Connection, Received, Server, replying, serving

pytest_plugins = ["getmodules.testing.fixtures"]

SETTINGS = NetSettings(connect_seconds=2, timeout=2, backoff_seconds=0.01, retries=2)
PACKAGE = module_package({"main.tf": "# main\n"})
DIGEST = Digest("sha256", hashlib.sha256(b"x").hexdigest())
ADA = Credential(secret=Secret("s3cr3t-p4ss"), username="ada", found_in="test")


@dataclass
class Asking:
    """A client of ``acme/vpc``, and what it has said to people."""

    client: RegistryClient
    notices: list[str] = field(default_factory=list)


@contextmanager
def client_of(url: str, credential: Credential | None = None) -> Iterator[Asking]:
    network = ClientNetwork(SETTINGS)
    session = network.session()
    notices: list[str] = []
    tokens = Tokens(session, lambda registry, repository, context: credential)
    yield Asking(RegistryClient(url, "acme/vpc", session, tokens, notices.append), notices)
    network.close()


@contextmanager
def against(
    answer: Answer, credential: Credential | None = None, host: str = "127.0.0.1"
) -> Iterator[tuple[Server, Asking]]:
    with serving(answer, host=host) as server, client_of(server.url, credential) as asking:
        yield server, asking


# ------------------------------------------------------------------------------------------------- oras-py

#: What of oras-py 0.2 can be reached through our client. All of it that speaks to a registry goes through
#: ``do_request``, which is ours and refuses to work without a context.
INHERITED = {
    "blob_exists", "chunked_upload", "delete_tag", "delete_tags", "download_blob", "get_blob", "get_manifest",
    "get_tags", "login", "logout", "pull", "push", "put_upload", "set_header", "upload_blob", "upload_manifest",
    "version",
}  # fmt: skip


def test_what_is_still_inherited_from_oras() -> None:
    """ADR 0010: whoever upgrades oras looks at what is new."""
    own = set(vars(RegistryClient))
    inherited = {name for name in vars(OrasRegistry) if not name.startswith("_")} - own
    assert inherited == INHERITED
    assert RegistryClient.__mro__[1:] == (OrasRegistry, object)


def test_the_ways_out_are_ours() -> None:
    assert {"do_request", "get_container", "__init__"} <= set(vars(RegistryClient))


@pytest.mark.parametrize("name", ["get_tags", "get_manifest", "pull"])
def test_nothing_that_is_inherited_gets_out(oci_registry: Registry, tmp_path: Path, name: str) -> None:
    with client_of(oci_registry.url) as asking, pytest.raises((TypeError, AttributeError)):
        getattr(asking.client, name)(f"{oci_registry.host}/acme/vpc:1")
    assert oci_registry.requests == ()
    assert list(tmp_path.iterdir()) == []


def test_it_has_no_session_of_requests_and_prints_no_secret(oci_registry: Registry) -> None:
    with client_of(oci_registry.url, ADA) as asking:
        assert "auth" not in vars(asking.client)
        assert "s3cr3t" not in repr(vars(asking.client))


# ------------------------------------------------------------------------------------------------ manifests


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_manifest_and_blob(context: Context, host: str) -> None:
    with Registry(host=host) as registry:
        registry.push("acme/vpc", PACKAGE, "1.0")
        with client_of(registry.url) as asking:
            for reference in ("1.0", str(PACKAGE.digest)):
                manifest = asking.client.manifest(reference, context)
                assert (manifest.media_type, manifest.body) == (OCI_MANIFEST, PACKAGE.manifest)
            layer = json.loads(PACKAGE.manifest)["layers"][0]
            descriptor = Descriptor(media_type="x", digest=Digest.parse(layer["digest"]), size=layer["size"])
            assert b"".join(asking.client.blob(descriptor, context)) == PACKAGE.blobs[1]
        first = registry.requests[0]
        assert first.path == "/v2/acme/vpc/manifests/1.0"
        assert OCI_MANIFEST in str(first.header("Accept"))
        assert OCI_INDEX in str(first.header("Accept"))


def test_a_media_type_is_had_without_its_parameters(context: Context) -> None:
    with against(replying("200 OK", b"{}", Content_Type=f"{OCI_MANIFEST} ; charset=utf-8")) as (_, asking):
        assert asking.client.manifest("1", context).media_type == OCI_MANIFEST


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        pytest.param(replying("204 No Content"), NetworkError, "network", id="204"),
        pytest.param(replying("206 Partial", b"{}"), NetworkError, "network", id="206"),
        pytest.param(replying("304 Not Modified"), NetworkError, "network", id="304"),
        pytest.param(replying("404 No"), NotFoundError, "not-found", id="404"),
        pytest.param(
            replying("200 OK", b" " * (MANIFEST_BYTES + 1)), LimitExceededError, "limit-exceeded/metadata", id="huge"
        ),
        pytest.param(replying("401 No"), AuthenticationError, "authentication", id="401 without a challenge"),
    ],
)
def test_what_is_no_manifest(context: Context, answer: Answer, kind: type[GetModulesError], code: str) -> None:
    with against(answer) as (_, asking):
        refusal(kind, code, asking.client.manifest, "1", context)


@pytest.mark.parametrize("status", ["203 Other", "204 No Content", "206 Partial", "299 Fine"])
def test_whatever_comes_for_a_digest_is_handed_over_to_be_judged_by_it(context: Context, status: str) -> None:
    body = b"" if status.startswith("204") else b"{}"
    with against(replying(status, body)) as (_, asking):
        assert asking.client.manifest(f"sha256:{'0' * 64}", context).body == body


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b'{"errors":[{"code":"A","message":"b"}]}', "404: A: b", id="code and message"),
        pytest.param(b'{"errors":[{"code":"A"},{"message":"b"},{}]}', "404: A; b; ", id="some of it"),
        pytest.param(b'{"errors":[]}', "404", id="none"),
        pytest.param(b'{"errors":"x"}', '404: {"errors":"x"}', id="another shape"),
        pytest.param(b"<p>\n  no\n</p>", "404: <p> no </p>", id="a page"),
        pytest.param(b"", "404", id="nothing"),
    ],
)
def test_what_an_error_says(context: Context, body: bytes, said: str) -> None:
    with against(replying("404 No", body)) as (_, asking):
        assert refusal(NotFoundError, "not-found", asking.client.manifest, "1", context).message.endswith(said)


def test_what_an_error_says_is_escaped_cut_and_without_our_secrets(context: Context) -> None:
    said = json.dumps({"errors": [{"code": "X", "message": "\x1b[2J s3cr3t-p4ss " + "y" * 9_000}]}).encode()[:8_000]

    def answer(connection: Any, request: Received) -> Any:
        if "Authorization" in request.headers:
            return connection.reply("404 No", said + b'"}]}')
        return connection.reply("401 No", b"", WWW_Authenticate='Basic realm="x"')

    with against(answer, ADA) as (_, asking):
        error = refusal(NotFoundError, "not-found", asking.client.manifest, "1", context)
    assert "s3cr3t" not in words_of(error)
    assert "\x1b" not in words_of(error)
    assert len(error.message) < 500


# ---------------------------------------------------------------------------------------------- credentials


@pytest.mark.parametrize("scheme", ["basic", "bearer"])
def test_credentials_are_shown_when_they_are_asked_for(context: Context, scheme: Any) -> None:
    with Registry(access=Access(scheme=scheme, users={"ada": User("s3cr3t-p4ss")})) as registry:
        registry.push("acme/vpc", PACKAGE, "1.0")
        with client_of(registry.url, ADA) as asking:
            asking.client.manifest("1.0", context)
            assert registry.requests[0].header("Authorization") is None
            registry.forget_requests()
            asking.client.manifest("1.0", context)
            assert len(registry.requests) == 1


def test_an_ended_token_is_renewed_within_the_request(context: Context) -> None:
    with Registry(access=Access(scheme="bearer", public=("*",))) as registry:
        registry.push("acme/vpc", PACKAGE, "1.0")
        with client_of(registry.url) as asking:
            asking.client.manifest("1.0", context)
            registry.expire_tokens()
            registry.forget_requests()
            asking.client.manifest("1.0", context)
            assert [request.path.split("/")[1] for request in registry.requests] == ["v2", "token", "v2"]


def test_a_refusal_after_a_redirect_is_never_answered(context: Context) -> None:
    challenge = replying("401 No", b"", WWW_Authenticate='Basic realm="x"')
    with serving(challenge, host="127.0.0.2") as elsewhere:
        moved = replying("307 Moved", b"", Location=f"{elsewhere.url}/x")
        with against(moved, ADA) as (server, asking):
            refusal(AuthenticationError, "authentication", asking.client.manifest, "1", context)
        assert (len(server.received), len(elsewhere.received)) == (1, 1)
        assert all("Authorization" not in request.headers for request in (*server.received, *elsewhere.received))


def test_who_is_refused_again_and_again_gives_up(context: Context) -> None:
    with against(replying("401 No", b"", WWW_Authenticate='Basic realm="x"'), ADA) as (server, asking):
        error = refusal(AuthenticationError, "authentication", asking.client.manifest, "1", context)
        assert len(server.received) == 2
    assert "refused" in str(error.hint)


# ------------------------------------------------------------------------------------------------- warnings


@pytest.mark.parametrize(
    ("header", "said"),
    [
        pytest.param('299 - "it will be switched off"', ["it will be switched off"], id="its text alone"),
        pytest.param('299 - "one, with a comma", 299 - "two"', ["one, with a comma", "two"], id="two of them"),
        pytest.param('299 - "a \\"quote\\""', ['a "quote"'], id="a quote"),
        pytest.param('299 - "\x1b[2J"', ["\\x1b[2J"], id="an escape sequence"),
        pytest.param('199 - "something else"', [], id="another code"),
        pytest.param("299 nothing", [], id="no text"),
        pytest.param('1299 - "x"', [], id="a longer code"),
    ],
)
def test_a_warning_is_shown(context: Context, header: str, said: list[str]) -> None:
    with against(replying("200 OK", b"{}", Warning=header)) as (server, asking):
        asking.client.manifest("1", context)
        assert asking.notices == [f"127.0.0.1:{server.port}: {each}" for each in said]


@pytest.mark.parametrize("said", ["s3cr3t-p4ss", "YWRhOnMzY3IzdC1wNHNz"], ids=["password", "as it was sent"])
def test_a_warning_does_not_show_what_the_registry_was_sent(context: Context, said: str) -> None:
    def answer(connection: Connection, request: Received) -> bool:
        if "Authorization" not in request.headers:
            return connection.reply("401 No", b"", WWW_Authenticate='Basic realm="x"')
        return connection.reply("200 OK", b"{}", Warning=f'299 - "you are {said}"')

    with against(answer, ADA) as (server, asking):
        asking.client.manifest("1", context)
        assert asking.notices == [f"127.0.0.1:{server.port}: you are ****"]


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Content_Type": "text/s3cr3t-p4ss"}, id="content type"),
        pytest.param({"Content_Encoding": "s3cr3t-p4ss"}, id="content encoding"),
    ],
)
def test_a_manifests_headers_do_not_show_what_the_registry_was_sent(context: Context, headers: dict[str, str]) -> None:
    def answer(connection: Connection, request: Received) -> bool:
        if "Authorization" not in request.headers:
            return connection.reply("401 No", b"", WWW_Authenticate='Basic realm="x"')
        return connection.reply("200 OK", b"{}", **headers)

    with against(answer, ADA) as (_, asking), pytest.raises(GetModulesError) as caught:
        parse(asking.client.manifest("1", context))
    assert "s3cr3t" not in words_of(caught.value)
    assert "****" in caught.value.message


# ---------------------------------------------------------------------------------------------------- lists


def test_tags_come_page_by_page(context: Context) -> None:
    with Registry(behaviour=Behaviour(page_size=2)) as registry:
        registry.push("acme/vpc", PACKAGE, *"abcde")
        with client_of(registry.url) as asking:
            assert list(asking.client.tags(context)) == list("abcde")
            assert len(registry.requests) == 3
            registry.fault("link-relative")
            assert list(asking.client.tags(context)) == list("abcde")


@pytest.mark.parametrize(
    ("fault", "kind", "code", "requests"),
    [
        pytest.param("link-elsewhere", UnsafeContentError, "unsafe-content/elsewhere", 1, id="another host"),
        pytest.param("link-file", UnsafeContentError, "unsafe-content/elsewhere", 1, id="a file"),
        pytest.param("link-garbage", UnsafeContentError, "unsafe-content/elsewhere", 1, id="no address"),
        pytest.param("link-loop", NetworkError, "network", 1, id="a circle"),
        pytest.param("link-endless", NetworkError, "network", 5, id="no end"),
    ],
)
def test_a_hostile_link(
    oci_registry: Registry,
    context: Context,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    kind: type[GetModulesError],
    code: str,
    requests: int,
) -> None:
    monkeypatch.setattr("getmodules.getters.oci.client.MAX_PAGES", 5)
    oci_registry.push("acme/vpc", PACKAGE, "1.0")
    oci_registry.fault(fault)
    with client_of(oci_registry.url) as asking:
        refusal(kind, code, lambda: list(asking.client.tags(context)))
    assert len(oci_registry.requests) == requests


@pytest.mark.parametrize(
    ("link", "follows"),
    [
        pytest.param('</x?last=a>; rel="next"', True, id="as it should be"),
        pytest.param('</x?last=a>; title="a,b"; rel="last next"', True, id="a comma in quotes, and two relations"),
        pytest.param('</x?last=a>; rel="prev"', False, id="another relation"),
        pytest.param("/x?last=a", False, id="no link"),
    ],
)
def test_which_link_is_followed(context: Context, link: str, follows: bool) -> None:
    def answer(connection: Any, request: Received) -> Any:
        headers = {} if "last" in request.target else {"Link": link}
        return connection.reply("200 OK", b'{"tags":["t"]}', **headers)

    with against(answer) as (server, asking):
        assert list(asking.client.tags(context)) == ["t"] * (1 + follows)
        assert [r.target for r in server.received][1:] == ["/x?last=a"] * follows


@pytest.mark.parametrize(
    "target", ["http://[::1/", "http://127.0.0.1:99999/", "http://u:s3cr3t@{host}/x", "//[", "\\\\x"]
)
def test_a_link_that_is_no_address(context: Context, target: str) -> None:
    def answer(connection: Any, request: Received) -> Any:
        return connection.reply("200 OK", b"{}", Link=f"<{target.format(host=request.headers['Host'])}>; rel=next")

    with against(answer) as (_, asking):
        error = refusal(UnsafeContentError, "unsafe-content/elsewhere", lambda: list(asking.client.tags(context)))
        assert "s3cr3t" not in words_of(error)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b'{"tags":null}', [], id="null"),
        pytest.param(b"{}", [], id="nothing"),
        pytest.param(b'{"name":"x","tags":["b","a"]}', ["b", "a"], id="in the registry's order"),
    ],
)
def test_a_list_of_tags(context: Context, body: bytes, expected: list[str]) -> None:
    with against(replying("200 OK", body)) as (_, asking):
        assert list(asking.client.tags(context)) == expected


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        pytest.param(b"<html>", CorruptArchiveError, "corrupt-archive", id="a page"),
        pytest.param(b"[]", CorruptArchiveError, "corrupt-archive", id="a list"),
        pytest.param(b'{"tags":"x","manifests":{}}', CorruptArchiveError, "corrupt-archive", id="text"),
        pytest.param(b'{"tags":[1],"manifests":[1]}', CorruptArchiveError, "corrupt-archive", id="a number"),
        pytest.param(b" " * (5 << 20), LimitExceededError, "limit-exceeded/metadata", id="huge"),
    ],
)
@pytest.mark.parametrize("what", ["tags", "referrers"])
def test_a_list_that_is_none(context: Context, body: bytes, kind: type[GetModulesError], code: str, what: str) -> None:
    with against(replying("200 OK", body, Content_Type=OCI_INDEX)) as (_, asking):
        ask: Callable[[], Any] = {
            "tags": lambda: list(asking.client.tags(context)),
            "referrers": lambda: asking.client.referrers(DIGEST, context),
        }[what]
        refusal(kind, code, ask)


@pytest.mark.parametrize("page_size", [1000, 1], ids=["one page", "pages"])
def test_referrers(context: Context, page_size: int) -> None:
    with Registry(behaviour=Behaviour(page_size=page_size)) as registry:
        registry.push("acme/vpc", PACKAGE, "1.0")
        digests = {registry.push("acme/vpc", artifact(f"a/{n}", [], subject=PACKAGE)) for n in range(3)}
        with client_of(registry.url) as asking:
            assert {each.digest for each in asking.client.referrers(PACKAGE.digest, context)} == digests


def test_referrers_by_the_fallback_tag(context: Context) -> None:
    with Registry(behaviour=Behaviour(referrers_api=False)) as registry, client_of(registry.url) as asking:
        registry.push("acme/vpc", PACKAGE, "1.0")
        assert asking.client.referrers(PACKAGE.digest, context) == ()
        index = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [PACKAGE.descriptor()]}).encode()
        tag = str(PACKAGE.digest).replace(":", "-")
        registry.put_manifest("acme/vpc", index, OCI_INDEX, tag)
        assert [each.digest for each in asking.client.referrers(PACKAGE.digest, context)] == [PACKAGE.digest]
        registry.push("acme/vpc", PACKAGE, tag)
        assert asking.client.referrers(PACKAGE.digest, context) == (), "a tag that holds something else says nothing"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(replying("200 OK", b"<html>", Content_Type="text/html; charset=utf-8"), id="a page"),
        pytest.param(replying("200 OK"), id="nothing"),
        pytest.param(replying("400 Bad Request", b"no"), id="400"),
        pytest.param(replying("405 Not Allowed", b"no"), id="405"),
        pytest.param(replying("501 Not Implemented", b"no"), id="501"),
    ],
)
def test_who_knows_no_list_of_referrers_is_asked_for_the_fallback_tag(context: Context, answer: Answer) -> None:
    index = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [PACKAGE.descriptor()]}).encode()

    def registry(connection: Connection, request: Received) -> bool | None:
        if "/referrers/" in request.target:
            return answer(connection, request)
        return connection.reply("200 OK", index, Content_Type=OCI_INDEX)

    with against(registry) as (server, asking):
        assert [each.digest for each in asking.client.referrers(DIGEST, context)] == [PACKAGE.digest]
        assert server.received[-1].target.endswith(f"/manifests/sha256-{DIGEST.hex}")


@pytest.mark.parametrize("media_type", ["Application/vnd.oci.Image.Index.v1+JSON; charset=utf-8", "application/json"])
def test_a_list_of_referrers_as_some_send_it(context: Context, media_type: str) -> None:
    index = json.dumps({"schemaVersion": 2, "manifests": [PACKAGE.descriptor()]}).encode()
    with against(replying("200 OK", index, Content_Type=media_type)) as (_, asking):
        assert [each.digest for each in asking.client.referrers(DIGEST, context)] == [PACKAGE.digest]


@pytest.mark.parametrize(
    ("second", "kind", "code"),
    [
        pytest.param(replying("400 Bad Request", b"no"), NetworkError, "network", id="400"),
        pytest.param(replying("404 Not Found", b"no"), NetworkError, "network", id="404"),
        pytest.param(
            replying("200 OK", b"<html>", Content_Type="text/html"), CorruptArchiveError, "corrupt-archive", id="page"
        ),
    ],
)
def test_a_list_of_referrers_that_breaks_off(
    context: Context, second: Answer, kind: type[GetModulesError], code: str
) -> None:
    """Not taken for a registry that has no such list."""
    index = json.dumps({"schemaVersion": 2, "manifests": [PACKAGE.descriptor()]}).encode()

    def registry(connection: Connection, request: Received) -> bool | None:
        if "page=2" in request.target:
            return second(connection, request)
        link = f'<{request.target}?page=2>; rel="next"'
        return connection.reply("200 OK", index, Content_Type=OCI_INDEX, Link=link)

    with against(registry) as (_, asking):
        refusal(kind, code, asking.client.referrers, DIGEST, context)


@pytest.mark.parametrize("status", ["401 No", "403 No"])
def test_who_may_not_see_the_referrers_is_told(context: Context, status: str) -> None:
    with against(replying(status)) as (_, asking), pytest.raises(AuthenticationError):
        asking.client.referrers(DIGEST, context)


def test_a_list_of_referrers_that_is_null(context: Context) -> None:
    with against(replying("200 OK", b'{"schemaVersion":2,"manifests":null}', Content_Type=OCI_INDEX)) as (_, asking):
        assert asking.client.referrers(DIGEST, context) == ()


# -------------------------------------------------------------------------------------------------- writing


MANIFEST = RawManifest(media_type=OCI_MANIFEST, body=PACKAGE.manifest)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        pytest.param("409 Conflict", b"kept", id="409"),
        pytest.param("412 Precondition Failed", b"kept", id="412"),
        pytest.param(
            "400 Bad Request", b"cannot be overwritten because the tag is immutable, and is kept", id="400, as ECR says"
        ),
    ],
)
def test_a_tag_that_the_registry_keeps(context: Context, status: str, said: bytes) -> None:
    with against(replying(status, b'{"errors":[{"code":"TAG_INVALID","message":"%s"}]}' % said)) as (server, asking):
        put = asking.client.for_publishing().put_manifest
        error = refusal(DestinationExistsError, "destination-exists", put, "1.0", MANIFEST, context, replace=True)
        assert "kept" in error.message
        (request,) = server.received
        assert (request.method, request.body) == ("PUT", PACKAGE.manifest)
        assert request.headers["Content-Type"] == OCI_MANIFEST


def test_a_manifest_that_the_registry_does_not_take(context: Context) -> None:
    with against(replying("400 Bad Request", b'{"errors":[{"code":"MANIFEST_INVALID"}]}')) as (_, asking):
        put = asking.client.for_publishing().put_manifest
        error = refusal(NetworkError, "network", put, "1.0", MANIFEST, context, replace=True)
        assert "400: MANIFEST_INVALID" in error.message


@pytest.mark.parametrize(
    ("status", "headers", "methods"),
    [
        pytest.param("201 Created", {}, ["PUT"], id="201"),
        pytest.param("200 OK", {"Docker_Content_Digest": str(PACKAGE.digest)}, ["PUT"], id="200 and its digest"),
        pytest.param("200 OK", {}, ["PUT", "GET"], id="200 alone"),
        pytest.param("202 Accepted", {"Docker_Content_Digest": "md5:0"}, ["PUT", "GET"], id="202 and another digest"),
    ],
)
def test_a_manifest_is_stored(context: Context, status: str, headers: dict[str, str], methods: list[str]) -> None:
    def answer(connection: Connection, request: Received) -> bool:
        if request.method == "PUT":
            return connection.reply(status, **headers)
        return connection.reply("200 OK", PACKAGE.manifest, Content_Type=OCI_MANIFEST)

    with against(answer) as (server, asking):
        asking.client.for_publishing().put_manifest("1.0", MANIFEST, context, replace=True)
        assert [each.method for each in server.received] == methods


@pytest.mark.parametrize(
    ("there", "media_type", "kind", "code"),
    [
        pytest.param(b"<html>", "text/html", UnsupportedContentError, "unsupported-content", id="a page"),
        pytest.param(
            b'{"schemaVersion":2}', OCI_MANIFEST, DigestMismatchError, "digest-mismatch", id="another manifest"
        ),
    ],
)
def test_a_200_does_not_prove_that_a_manifest_is_stored(
    context: Context, there: bytes, media_type: str, kind: type[GetModulesError], code: str
) -> None:
    with against(replying("200 OK", there, Content_Type=media_type)) as (_, asking):
        put = asking.client.for_publishing().put_manifest
        refusal(kind, code, put, "1.0", MANIFEST, context, replace=True)


def test_writing_asks_for_the_right_to_write(context: Context) -> None:
    with Registry(access=Access(scheme="bearer", users={"ada": User("s3cr3t-p4ss")})) as registry:
        with client_of(registry.url, ADA) as asking:
            writing = asking.client.for_publishing()
            assert not writing.has_blob(DIGEST, context)
            writing.put_blob(DIGEST, 1, lambda: (b"x",), context)
            assert writing.has_blob(DIGEST, context)
        (token,) = [request for request in registry.requests if request.path == "/token"]
        assert token.argument("scope") == "repository:acme/vpc:pull,push"
