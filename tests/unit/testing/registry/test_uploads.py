"""Every way to push a blob, and every way to do it wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from getmodules.testing import Access, Behaviour, Registry, User
from tests.support.registryclient import OCTETS, Client, Reply, ask, push_blob, sha

DATA = bytes(range(250)) * 20
START = "/v2/a/blobs/uploads/"
EACH_ALGORITHM = pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])


@pytest.fixture
def client(registry: Registry) -> Iterator[Client]:
    with Client(registry) as connected:
        yield connected


def begin(client: Client, name: str = "a") -> str:
    reply = client.ask("POST", f"/v2/{name}/blobs/uploads/")
    assert reply.status == 202
    assert reply.header("Range") == "0-0"
    return reply.header("Location")


def chunk(client: Client, location: str, start: int, stop: int, method: str = "PATCH", query: str = "") -> Reply:
    headers = {**OCTETS, "Content-Range": f"{start}-{stop - 1}"}
    return client.ask(method, location + query, DATA[start:stop], headers)


def is_there(client: Client, digest: str, data: bytes = DATA) -> bool:
    reply = client.ask("GET", f"/v2/a/blobs/{digest}")
    return reply.status == 200 and reply.body == data


# --------------------------------------------------------------------------------------------- the ways


@EACH_ALGORITHM
def test_at_once(client: Client, algorithm: str) -> None:
    digest = sha(DATA, algorithm)
    reply = client.ask("POST", f"{START}?digest={digest}", DATA, OCTETS)
    assert (reply.status, reply.header("Location")) == (201, f"/v2/a/blobs/{digest}")
    assert reply.header("Docker-Content-Digest") == digest
    assert is_there(client, digest)


@EACH_ALGORITHM
def test_in_two_steps(client: Client, algorithm: str) -> None:
    digest = sha(DATA, algorithm)
    reply = client.ask("PUT", f"{begin(client)}?digest={digest}", DATA, OCTETS)
    assert (reply.status, reply.header("Location")) == (201, f"/v2/a/blobs/{digest}")
    assert is_there(client, digest)


@EACH_ALGORITHM
def test_as_a_stream(client: Client, algorithm: str) -> None:
    location = begin(client)
    reply = client.ask("PATCH", location, DATA, OCTETS)
    assert (reply.status, reply.header("Range")) == (202, f"0-{len(DATA) - 1}")
    digest = sha(DATA, algorithm)
    assert client.ask("PUT", f"{reply.header('Location')}?digest={digest}").status == 201
    assert is_there(client, digest)


@pytest.mark.parametrize("last_with_put", [False, True])
@EACH_ALGORITHM
def test_in_chunks(client: Client, algorithm: str, last_with_put: bool) -> None:
    location, digest = begin(client), sha(DATA, algorithm)
    for start, stop in ((0, 2000), (2000, 4000)):
        reply = chunk(client, location, start, stop)
        assert (reply.status, reply.header("Range")) == (202, f"0-{stop - 1}")
        status = client.ask("GET", location)
        assert (status.status, status.header("Range")) == (204, f"0-{stop - 1}")
    if last_with_put:
        reply = chunk(client, location, 4000, 5000, "PUT", f"?digest={digest}")
    else:
        assert chunk(client, location, 4000, 5000).status == 202
        reply = client.ask("PUT", f"{location}?digest={digest}")
    assert reply.status == 201
    assert is_there(client, digest)


def test_an_upload_of_nothing_is_the_empty_blob(client: Client) -> None:
    assert client.ask("PUT", f"{begin(client)}?digest={sha(b'')}").status == 201
    assert is_there(client, sha(b""), b"")


def test_a_blob_that_is_there_may_be_pushed_again(client: Client, registry: Registry) -> None:
    assert push_blob(registry, "a", DATA) == push_blob(registry, "a", DATA)
    assert is_there(client, sha(DATA))


# --------------------------------------------------------------------------------------------- wrong ways


@pytest.mark.parametrize("start", [0, 1000, 3000])
def test_a_chunk_out_of_order_is_refused_and_the_upload_goes_on(client: Client, start: int) -> None:
    location = begin(client)
    assert chunk(client, location, 0, 2000).status == 202
    reply = chunk(client, location, start, start + 1000)
    assert reply.status == 416
    assert (reply.header("Range"), reply.header("Location")) == ("0-1999", location)
    reply = chunk(client, location, start, 5000, "PUT", f"?digest={sha(DATA)}")
    assert reply.status == 416
    assert chunk(client, location, 2000, 5000, "PUT", f"?digest={sha(DATA)}").status == 201
    assert is_there(client, sha(DATA))


def test_a_first_chunk_that_is_not_the_first(client: Client) -> None:
    assert chunk(client, begin(client), 1000, 2000).status == 416


def test_a_chunk_that_is_shorter_than_it_says_does_not_count(client: Client) -> None:
    location = begin(client)
    reply = client.ask("PATCH", location, DATA[:10], {**OCTETS, "Content-Range": "0-99"})
    assert (reply.status, reply.code) == (400, "SIZE_INVALID")
    assert client.ask("GET", location).header("Range") == "0-0"
    assert client.ask("PUT", f"{location}?digest={sha(DATA)}", DATA, OCTETS).status == 201


@pytest.mark.parametrize("content_range", ["x", "5", "5-", "-5"])
def test_a_content_range_that_is_none(client: Client, content_range: str) -> None:
    reply = client.ask("PATCH", begin(client), b"x", {**OCTETS, "Content-Range": content_range})
    assert (reply.status, reply.code) == (400, "BLOB_UPLOAD_INVALID")


def test_a_wrong_digest_is_refused_and_nothing_is_kept(client: Client, registry: Registry) -> None:
    wrong = sha(b"something else")
    reply = client.ask("POST", f"{START}?digest={wrong}", DATA, OCTETS)
    assert (reply.status, reply.code) == (400, "DIGEST_INVALID")
    location = begin(client)
    reply = client.ask("PUT", f"{location}?digest={wrong}", DATA, OCTETS)
    assert (reply.status, reply.code) == (400, "DIGEST_INVALID")
    assert client.ask("GET", location).code == "BLOB_UPLOAD_UNKNOWN"
    assert not is_there(client, wrong)
    assert not is_there(client, sha(DATA))
    assert registry.repository("a").uploads == {}


@pytest.mark.parametrize("query", ["", "?digest=sha256:x", "?digest=..%2f..%2fx"])
def test_a_closing_put_without_a_good_digest(client: Client, query: str) -> None:
    reply = client.ask("PUT", begin(client) + query, DATA, OCTETS)
    assert (reply.status, reply.code) == (400, "DIGEST_INVALID")


def test_an_upload_is_cancelled(client: Client) -> None:
    location = begin(client)
    assert client.ask("DELETE", location).status == 204
    for method in ("GET", "PATCH", "PUT", "DELETE"):
        assert client.ask(method, f"{location}?digest={sha(b'')}", b"").code == "BLOB_UPLOAD_UNKNOWN"


def test_an_upload_is_known_in_its_repository_only(client: Client) -> None:
    identifier = begin(client).rpartition("/")[2]
    assert client.ask("GET", f"/v2/b/blobs/uploads/{identifier}").code == "BLOB_UPLOAD_UNKNOWN"


@pytest.mark.parametrize(("method", "target"), [("GET", START), ("PUT", START), ("POST", START + "1-2-3")])
def test_other_methods_are_not_supported(client: Client, method: str, target: str) -> None:
    reply = client.ask(method, target)
    assert (reply.status, reply.code) == (405, "UNSUPPORTED")


def test_chunks_may_have_a_least_length() -> None:
    with Registry(behaviour=Behaviour(chunk_min_length=1000)) as registry, Client(registry) as client:
        reply = client.ask("POST", START)
        assert reply.header("OCI-Chunk-Min-Length") == "1000"
        location = reply.header("Location")
        assert chunk(client, location, 0, 1000).status == 202
        assert chunk(client, location, 1000, 1500).status == 202
        assert chunk(client, location, 1500, 5000).code == "BLOB_UPLOAD_INVALID"
        assert client.ask("PUT", f"{location}?digest={sha(DATA[:1500])}").status == 201


# --------------------------------------------------------------------------------------------- mounts


def test_a_blob_is_mounted_from_another_repository(client: Client, registry: Registry) -> None:
    digest = push_blob(registry, "b", DATA)
    reply = client.ask("POST", f"{START}?mount={digest}&from=b")
    assert (reply.status, reply.header("Location")) == (201, f"/v2/a/blobs/{digest}")
    assert client.ask("DELETE", f"/v2/b/blobs/{digest}").status == 202
    assert is_there(client, digest)


def test_a_blob_is_mounted_from_wherever_it_is(client: Client, registry: Registry) -> None:
    digest = push_blob(registry, "b", DATA)
    assert client.ask("POST", f"{START}?mount={digest}").status == 201
    assert is_there(client, digest)


@pytest.mark.parametrize("source", ["&from=b", "&from=unknown", ""])
def test_a_mount_of_what_is_not_there_begins_an_upload(client: Client, registry: Registry, source: str) -> None:
    push_blob(registry, "b", b"another")
    reply = client.ask("POST", f"{START}?mount={sha(DATA)}{source}")
    assert reply.status == 202
    assert client.ask("PUT", f"{reply.header('Location')}?digest={sha(DATA)}", DATA, OCTETS).status == 201


def test_mounts_may_be_unsupported() -> None:
    with Registry(behaviour=Behaviour(mounts=False)) as registry:
        digest = push_blob(registry, "b", DATA)
        assert ask(registry, "POST", f"{START}?mount={digest}&from=b").status == 202


def test_nothing_is_mounted_from_where_the_client_may_not_pull() -> None:
    writer = User("p", {"a": frozenset({"pull", "push"})})
    with Registry(access=Access(scheme="basic", users={"u": writer})) as registry:
        digest = str(registry.put_blob("secret", DATA))
        headers = {"Authorization": "Basic dTpw"}
        for source in ("&from=secret", ""):
            assert ask(registry, "POST", f"{START}?mount={digest}{source}", headers=headers).status == 202
        assert ask(registry, "HEAD", f"/v2/a/blobs/{digest}", headers=headers).status == 404
