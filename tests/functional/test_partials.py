"""Downloads that a signal ended: what is here stays, and the next run asks for the rest alone, where it is the same."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import re
import signal
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from getmodules import Client, DigestMismatchError, NetworkError
from getmodules.cache.location import CacheLocation
from getmodules.cache.upkeep import clean, info, prune
from getmodules.net.settings import NetSettings
from tests.support.commandline import PATIENCE, run, start, wait_for
from tests.support.refusals import refusal
from tests.support.servers import Connection, Received, Server, serving

MIB = 1 << 20
BEFORE = 9 * MIB
#: As much as is stored of that, and noted, even if the run is killed.
KEPT = 4 * MIB


def a_zip(seed: int = 1) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("main.tf"), "# main\n")
        archive.writestr(zipfile.ZipInfo("large.bin"), random.Random(seed).randbytes(12 * MIB))
    return buffer.getvalue()


BODY = a_zip()
SHA256 = hashlib.sha256(BODY).hexdigest()


class Site:
    """A web server and registry of one archive, which stops in the middle while ``stalls``, or ends while ``cuts``."""

    def __init__(self) -> None:
        self.body = BODY
        self.tag: str | None = '"1"'
        self.stalls = self.cuts = False
        self.ranges = True
        #: What a request for a part is answered.
        self.refusal: str | None = None

    def __call__(self, connection: Connection, request: Received) -> bool:
        if "/manifests/" in request.target:
            kind = "application/vnd.oci.image.manifest.v1+json"
            return connection.reply("200 OK", self.manifest(), Content_Type=kind)
        asked = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
        if asked and self.refusal:
            return connection.reply(self.refusal, b"no parts here")
        condition = request.headers.get("If-Range", self.tag)
        first = int(asked[1]) if asked and self.ranges and condition == self.tag else 0
        part = self.body[first:]
        tag = {"ETag": self.tag} if self.tag else {}
        lines = {"Content-Length": str(len(part)), "Content-Type": "application/zip", **tag}
        if first:
            lines["Content-Range"] = f"bytes {first}-{len(self.body) - 1}/{len(self.body)}"
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        connection.send(f"HTTP/1.1 {'206 Partial Content' if first else '200 OK'}\r\n{head}\r\n")
        if self.stalls or self.cuts:
            connection.send(part[:BEFORE])
            connection.sleep(PATIENCE if self.stalls else 0)
            return False
        connection.send(part)
        return True

    def manifest(self) -> bytes:
        layer = {"mediaType": "archive/zip", "digest": f"sha256:{SHA256}", "size": len(BODY)}
        artifact = {"artifactType": "application/vnd.opentofu.modulepkg", "layers": [layer]}
        kind = "application/vnd.oci.image.manifest.v1+json"
        return json.dumps({"schemaVersion": 2, "mediaType": kind, **artifact}).encode()


@contextmanager
def a_site() -> Iterator[tuple[Site, Server]]:
    site = Site()
    with serving(site) as server:
        yield site, server


def address(how: str, server: Server) -> str:
    if how == "digest":
        return f"oci://127.0.0.1:{server.port}/acme/vpc?tag=1"
    return f"{server.url}/p.zip" + (f"?checksum=sha256:{SHA256}" if how == "checksum" else "")


def client(root: Path) -> Client:
    return Client(environ={}, cache_dir=root, network=NetSettings(retries=0, backoff_seconds=0.01, timeout=20))


def home(root: Path) -> CacheLocation:
    return CacheLocation(root=root, writable=True)


def begun(root: Path) -> list[Path]:
    return [path for path in (root / "partials").glob("*") if path.suffix == ""]


def ranges(server: Server) -> list[str]:
    return [each.headers["Range"] for each in server.received if "Range" in each.headers]


def end_in_the_middle(source: str, root: Path, place: Path, number: signal.Signals) -> None:
    child = start("get", source, place / "ended", GETMODULES_CACHE_DIR=str(root))
    wait_for(child, lambda: any(path.stat().st_size for path in (root / "partials").glob("*.sum")))
    child.send_signal(number)
    child.communicate(timeout=PATIENCE)
    assert not (place / "ended").exists()


@pytest.mark.parametrize("how", ["digest", "checksum", "entity tag"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda each: each.name)
def test_a_signal_ends_it_and_the_next_run_goes_on(how: str, number: signal.Signals, tmp_path: Path) -> None:
    root = tmp_path / "cache"
    with a_site() as (site, server):
        site.tag = '"1"' if how == "entity tag" else None
        site.stalls = True
        source = address(how, server)
        end_in_the_middle(source, root, tmp_path, number)
        assert (info(home(root)).partials, info(home(root)).blobs) == (1, 0)
        site.stalls = False
        done = run("get", source, tmp_path / "dest", "--json", GETMODULES_CACHE_DIR=str(root))
        assert done.code == 0, done.err
        assert "bytes are here already, from a run that ended early" in done.err
    (asked,) = ranges(server)
    kept = int(asked.removeprefix("bytes=").removesuffix("-"))
    assert KEPT <= kept <= BEFORE
    assert hashlib.sha256((tmp_path / "dest" / "large.bin").read_bytes()).digest() == (
        hashlib.sha256(zipfile.ZipFile(io.BytesIO(BODY)).read("large.bin")).digest()
    )
    assert f"sha256:{SHA256}" in done.object["digests"].values() or how == "digest"
    assert (info(home(root)).partials, info(home(root)).blobs) == (0, 1)
    assert list((root / "partials").iterdir()) == []


def test_nothing_is_kept_without_a_cache_or_without_a_name_for_the_bytes(tmp_path: Path) -> None:
    root = tmp_path / "cache"
    with a_site() as (site, server):
        site.cuts = True
        for tag in (None, 'W/"weak"'):
            site.tag = tag
            refusal(NetworkError, "network", client(root).get, address("none", server), tmp_path / "dest")
        assert info(home(root)).partials == 0
        site.tag = '"1"'
        without = Client(environ={}, use_cache=False, network=NetSettings(retries=0, backoff_seconds=0.01))
        refusal(NetworkError, "network", without.get, address("checksum", server), tmp_path / "dest")
    assert ranges(server) == []
    assert not (root / "partials").exists()
    assert not (tmp_path / "dest").exists()


def cut(how: str, root: Path, site: Site, server: Server, dest: Path) -> Path:
    """A download that ends early, for whichever reason."""
    site.cuts = True
    refusal(NetworkError, "network", client(root).get, address(how, server), dest)
    site.cuts = False
    server.received.clear()
    (path,) = begun(root)
    return path


@pytest.mark.parametrize("how", ["checksum", "entity tag"])
def test_another_body_under_another_tag_is_fetched_as_a_whole(how: str, tmp_path: Path) -> None:
    root = tmp_path / "cache"
    with a_site() as (site, server):
        cut(how, root, site, server, tmp_path / "dest")
        site.tag, site.body = '"2"', BODY if how == "checksum" else a_zip(2)
        client(root).get(address(how, server), tmp_path / "dest")
    # With a checksum the bytes have a name of their own, whatever the server's tag is.
    assert len(ranges(server)) == (1 if how == "checksum" else 0)
    assert (tmp_path / "dest" / "large.bin").stat().st_size == 12 * MIB


@pytest.mark.parametrize("how", ["digest", "checksum"])
def test_what_turns_out_wrong_is_refused_and_dropped(how: str, tmp_path: Path) -> None:
    root = tmp_path / "cache"
    with a_site() as (site, server):
        cut(how, root, site, server, tmp_path / "dest")
        site.body = a_zip(2)
        refusal(DigestMismatchError, "digest-mismatch", client(root).get, address(how, server), tmp_path / "dest")
        assert len(ranges(server)) == 1
        assert list((root / "partials").iterdir()) == []
        assert not (tmp_path / "dest").exists()
        assert info(home(root)).blobs == 0
        site.body = BODY
        server.received.clear()
        client(root).get(address(how, server), tmp_path / "dest")
    assert ranges(server) == []


@pytest.mark.parametrize("change", ["a byte", "an end that was lost", "a note that is torn", "no note"])
def test_what_is_not_what_was_written_is_not_gone_on_with(change: str, tmp_path: Path) -> None:
    """After a loss of power; an entity tag would not notice."""
    root = tmp_path / "cache"
    with a_site() as (site, server):
        path = cut("entity tag", root, site, server, tmp_path / "dest")
        note = path.with_name(f"{path.name}.sum")
        if change == "a byte":
            with path.open("r+b") as file:
                file.seek(MIB)
                file.write(b"\0\0\0\0")
        elif change == "an end that was lost":
            os.truncate(path, MIB)
        elif change == "a note that is torn":
            note.write_bytes(note.read_bytes()[:30])
        else:
            note.unlink()
        installed = client(root).get(address("entity tag", server), tmp_path / "dest")
    assert ranges(server) == []
    assert installed.archive == f"sha256:{SHA256}"


@pytest.mark.parametrize("refusal", [None, "400 Bad Request", "416 Range Not Satisfiable", "501 Not Implemented"])
@pytest.mark.parametrize("how", ["digest", "entity tag"])
def test_a_server_without_ranges_sends_all_of_it(how: str, refusal: str | None, tmp_path: Path) -> None:
    root = tmp_path / "cache"
    with a_site() as (site, server):
        cut(how, root, site, server, tmp_path / "dest")
        site.ranges, site.refusal = False, refusal
        installed = client(root).get(address(how, server), tmp_path / "dest")
    assert len(ranges(server)) == 1
    assert installed.archive == f"sha256:{SHA256}"


def test_what_is_here_as_a_whole_is_not_asked_for(tmp_path: Path) -> None:
    """A run was killed between its last byte and the moment when it would have become a blob."""
    root = tmp_path / "cache"
    with a_site() as (site, server):
        path = cut("digest", root, site, server, tmp_path / "dest")
        path.write_bytes(BODY)
        path.with_name(f"{path.name}.sum").write_text(f"{len(BODY)} {SHA256}\n")
        client(root).get(address("digest", server), tmp_path / "dest")
    assert [each.target.split("/")[-2] for each in server.received] == ["manifests"]


def test_of_two_runs_one_goes_on_and_the_other_starts_anew(tmp_path: Path) -> None:
    """Other addresses with one checksum: their packages have locks of their own."""
    root = tmp_path / "cache"
    with a_site() as (site, server):
        site.stalls = True
        source = address("checksum", server)
        child = start("get", source, tmp_path / "first", GETMODULES_CACHE_DIR=str(root))
        wait_for(child, lambda: any(path.stat().st_size for path in (root / "partials").glob("*.sum")))
        site.stalls = False
        assert clean(home(root)).removed == 0  # it is in use
        client(root).get(source.replace("/p.zip", "/q.zip"), tmp_path / "second")
        assert ranges(server) == []
        assert len(begun(root)) == 1
        child.kill()
        child.communicate()


@pytest.mark.parametrize("how", ["clean", "prune"])
def test_they_are_counted_and_go_with_the_rest(how: str, tmp_path: Path) -> None:
    root = tmp_path / "cache"
    with a_site() as (site, server):
        cut("digest", root, site, server, tmp_path / "dest")
    found = run("cache", "info", "--json", GETMODULES_CACHE_DIR=str(root)).object
    assert found["partials"] == 1
    assert found["bytes"] >= KEPT
    assert "\n1 download that ended early\n" in run("cache", "info", GETMODULES_CACHE_DIR=str(root)).out
    done = clean(home(root)) if how == "clean" else prune(home(root), max_size=MIB)
    assert (done.removed, info(home(root)).partials) == (1, 0)
    assert list((root / "partials").iterdir()) == []
