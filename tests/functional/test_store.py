"""The store with real servers, real processes and real file systems: what is asked for, and what is left behind."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from getmodules import Client, ConfigError, Digest, DigestMismatchError, GetModulesError, OfflineError
from getmodules.cache.upkeep import clean
from getmodules.testing import Package, Registry, image_package, module_package
from tests.support.commandline import COMMAND, PATIENCE, Result, environment, run, start
from tests.support.fakes import ZIP, ZIP_H1, ZIP_SHA256, Recorder, zip_of
from tests.support.processes import ORDINARY, bind_mount, in_mount_namespace, mount_tmpfs
from tests.support.refusals import refusal
from tests.support.servers import Connection, Received, serving
from tests.support.snapshots import snapshot
from tests.support.stores import a_home, blobs_of, damage, nothing_half, records_of
from tests.support.tools import need
from tests.support.waiting import wait_until

FILES = {"main.tf": "# main\n" * 1000, "sub/a.tf": "# a\n"}
PROCESSES = 8


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as running:
        running.push_module("acme/vpc", "1.0.0", FILES)
        yield running


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


def client(root: Path, **more: object) -> Client:
    return Client(environ={}, cache_dir=root, **more)  # type: ignore[arg-type]


def kinds(registry: Registry) -> Counter[str]:
    """What was asked for since the last time."""
    found = Counter(request.path.split("/")[-2] for request in registry.requests)
    registry.forget_requests()
    return found


# ------------------------------------------------------------------------------------------- what is asked for

PACKAGES: dict[str, Callable[[], Package]] = {
    "a module": lambda: module_package(FILES),
    "an image": lambda: image_package([{"main.tf": "1"}, {"main.tf": "2", "more.tf": "3"}]),
    "an image of one layer twice": lambda: image_package([{"main.tf": "1"}, {"main.tf": "1"}]),
}


@pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES)
def test_a_tag_is_one_small_question_and_a_pin_none(
    registry: Registry, root: Path, tmp_path: Path, package: Callable[[], Package]
) -> None:
    registry.push("acme/it", package(), "1")
    source = f"oci://{registry.host}/acme/it?tag=1"
    first = client(root).get(source, tmp_path / "one")
    assert kinds(registry)["manifests"] == 1
    again = client(root).get(source, tmp_path / "two")
    assert kinds(registry) == {"manifests": 1}
    registry.stop()
    pinned = client(root).get(str(first.pinned), tmp_path / "three")
    resolved = client(root).resolve(str(first.pinned))
    offline = client(root, offline=True).get(source, tmp_path / "four")
    assert len({each.h1 for each in (first, again, pinned, offline)}) == 1
    assert {each.pinned for each in (first, again, pinned, offline, resolved)} == {first.pinned}
    assert (pinned.digests, pinned.id) == (first.digests, first.id)
    nothing_half(root)


def test_any_part_of_a_pinned_package_costs_no_question(registry: Registry, root: Path, tmp_path: Path) -> None:
    source = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
    pinned = str(client(root).get(source, tmp_path / "one").pinned)
    kinds(registry)
    assert client(root).get(pinned.replace("?", "//sub?"), tmp_path / "part").files == 1
    assert kinds(registry) == {}


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_a_manifest_is_pinned_by_any_strong_digest(
    registry: Registry, root: Path, tmp_path: Path, algorithm: str
) -> None:
    package = module_package(FILES)
    registry.push("acme/vpc", package)
    digest = f"{algorithm}:{hashlib.new(algorithm, package.manifest).hexdigest()}"
    if algorithm != "sha256":
        registry.put_manifest("acme/vpc", package.manifest, package.media_type, digest)
    source = f"oci://{registry.host}/acme/vpc?digest={digest}"
    first = client(root).get(source, tmp_path / "one")
    kinds(registry)
    assert client(root).get(source, tmp_path / "two").h1 == first.h1
    assert kinds(registry) == {}


def test_a_layer_of_two_packages_is_fetched_once(registry: Registry, root: Path, tmp_path: Path) -> None:
    registry.push("acme/one", image_package([FILES, {"one": "1"}]), "1")
    registry.push("acme/two", image_package([FILES, {"two": "2"}]), "1")
    client(root).get(f"oci://{registry.host}/acme/one?tag=1", tmp_path / "one")
    kinds(registry)
    client(root).get(f"oci://{registry.host}/acme/two?tag=1", tmp_path / "two")
    assert kinds(registry) == {"manifests": 1, "blobs": 2}  # the config, and the one layer that is new


def a_site(etag: str | None) -> Callable[[Connection, Received], bool]:
    """A web server with one archive; with an entity tag it answers conditional requests."""

    def answer(connection: Connection, request: Received) -> bool:
        if etag is not None and request.headers.get("If-None-Match") == etag:
            return connection.reply("304 Not Modified", ETag=etag)
        headers = {"Content_Type": "application/zip"} | ({} if etag is None else {"ETag": etag})
        return connection.reply("200 OK", ZIP, **headers)

    return answer


@pytest.mark.parametrize("etag", ['"v1"', None], ids=["with a validator", "without"])
@pytest.mark.parametrize("query", ["", "?archive=zip"])
def test_an_http_address_without_a_checksum(root: Path, tmp_path: Path, etag: str | None, query: str) -> None:
    with serving(a_site(etag)) as server:
        installed = [client(root).get(f"{server.url}/p.zip{query}", tmp_path / str(number)) for number in range(3)]
        conditions = [request.headers.get("If-None-Match") for request in server.received]
        assert conditions == [None, etag, etag]
        assert len({each.h1 for each in installed}) == 1
        server.received.clear()
        client(root).get(str(installed[0].pinned), tmp_path / "pinned")
        assert server.received == []


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_an_http_address_with_a_checksum_is_asked_for_once(root: Path, tmp_path: Path, algorithm: str) -> None:
    with serving(a_site(None)) as server:
        source = f"{server.url}/p.zip?checksum={Digest.of(ZIP, algorithm)}"
        for name in ("one", "two"):
            assert client(root).get(source, tmp_path / name).h1 == ZIP_H1
        assert len(server.received) == 1


# ------------------------------------------------------------------------------------------------- damage


def test_what_was_damaged_is_fetched_again(registry: Registry, root: Path, tmp_path: Path) -> None:
    source = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
    pinned = str(client(root).get(source, tmp_path / "first").pinned)
    for number, path in enumerate((*blobs_of(root), *records_of(root))):
        damage(path)
        client(root).get(pinned, tmp_path / f"again-{number}")
        nothing_half(root)
        kinds(registry)
        client(root).get(pinned, tmp_path / f"warm-{number}")
        client(root, offline=True).get(pinned, tmp_path / f"offline-{number}")
        assert kinds(registry) == {}


def test_offline_what_was_damaged_is_named(registry: Registry, root: Path, tmp_path: Path) -> None:
    source = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
    installed = client(root).get(source, tmp_path / "one")
    before = snapshot(tmp_path / "one")
    for path in blobs_of(root):
        content = path.read_bytes()
        damage(path)
        for address in (source, str(installed.pinned)):
            offline = client(root, offline=True)
            error = refusal(OfflineError, "offline", offline.get, address, tmp_path / "two")
            assert path.name in error.message
            if not path.exists():
                path.write_bytes(content)
                damage(path)
        path.write_bytes(content)
    assert sorted(os.listdir(tmp_path)) == ["one", "store"]
    assert snapshot(tmp_path / "one") == before


@pytest.mark.parametrize("proof", ["another manifest", "none", "no text"])
def test_no_record_passes_another_manifest_off_as_the_one_that_was_asked_for(
    registry: Registry, root: Path, tmp_path: Path, proof: str
) -> None:
    """Somebody who knows our format, and has our account."""
    registry.push_module("acme/evil", "1", {"evil.tf": ""})
    evil = client(root).get(f"oci://{registry.host}/acme/evil?tag=1", tmp_path / "evil")
    (its_record,) = records_of(root, "pins")
    others_proof = json.loads(its_record.read_text())["record"]["proof"]
    its_record.unlink()
    pinned = str(client(root).get(f"oci://{registry.host}/acme/vpc?tag=1.0.0", tmp_path / "good").pinned)
    (record,) = records_of(root, "pins")
    whole = json.loads(record.read_text())
    whole["record"]["proof"] = {
        "another manifest": others_proof,
        "none": None,
        "no text": base64.b64encode(b"\xff\xfe\n{}").decode(),
    }[proof]
    whole["sum"] = hashlib.sha256(json.dumps(whole["record"], sort_keys=True).encode()).hexdigest()
    record.write_text(json.dumps(whole))
    for offline in (False, True):
        forged = client(root, offline=offline)
        error = refusal(DigestMismatchError, "digest-mismatch", forged.get, pinned, tmp_path / "dest")
        assert "cache clean" in str(error.hint)
    assert evil.files == 1
    assert not (tmp_path / "dest").exists()


# --------------------------------------------------------------------------------------------- file systems


def test_a_store_on_another_file_system(registry: Registry, root: Path, tmp_path: Path) -> None:
    source = f"oci://{registry.host}/acme/vpc?tag=1.0.0"

    def work() -> None:
        root.mkdir()
        mount_tmpfs(root, "size=16m,mode=700")
        for name in ("one", "two"):
            client(root).get(source, tmp_path / name)
        assert snapshot(tmp_path / "one") == snapshot(tmp_path / "two")
        nothing_half(root)
        assert len(blobs_of(root)) == 1

    in_mount_namespace(work)
    assert kinds(registry) == {"manifests": 2, "blobs": 1}


@pytest.mark.parametrize("warm", [True, False], ids=["that has it", "that has it not"])
def test_a_store_that_is_mounted_read_only(registry: Registry, root: Path, tmp_path: Path, warm: bool) -> None:
    source = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
    a_home(root)
    if warm:
        client(root).get(source, tmp_path / "first")
    kinds(registry)
    before = snapshot(root)

    def work() -> None:
        bind_mount(root, root, read_only=True)
        recorder = Recorder()
        client(root, progress=recorder).get(source, tmp_path / "two")
        assert [event for event in recorder.events if event[0] == "notice"] == []

    in_mount_namespace(work)
    assert kinds(registry) == ({"manifests": 1} if warm else {"manifests": 1, "blobs": 1})
    assert snapshot(root) == before
    assert (tmp_path / "two" / "main.tf").read_text() == FILES["main.tf"]


@pytest.mark.slow
def test_a_store_that_is_full(root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """At every size: also where the first directories fit, or half of the package, or all of it but the record."""
    noise = {"noise": os.urandom(300_000)}
    content = zip_of(noise)

    def answer(connection: Connection, request: Received) -> bool:
        return connection.reply("200 OK", content)

    with serving(answer) as server:

        def work() -> None:
            for number, (size, inodes) in enumerate(
                [(64, 100), (200, 100), (316, 100), (320, 100), (400, 100), *((900, inodes) for inodes in range(2, 24))]
            ):
                place = tmp_path / f"store-{number}"
                place.mkdir()
                mount_tmpfs(place, f"size={size}k,nr_inodes={inodes},mode=700")
                dest = tmp_path / f"dest-{number}"
                source = f"{server.url}/p.zip?checksum=sha256:{hashlib.sha256(content).hexdigest()}"
                client(place).get(source, dest)
                assert (dest / "noise").read_bytes() == noise["noise"]
                nothing_half(place)
                client(place).get(source, tmp_path / f"again-{number}")
                assert caplog.text.count("without") <= 2
                caplog.clear()
            left = [name for name in os.listdir(tmp_path) if not name.startswith(("store-", "dest-", "again-"))]
            assert left == []

        in_mount_namespace(work)


def test_a_disk_that_is_full_is_an_error_and_leaves_nothing(root: Path, tmp_path: Path) -> None:
    content = zip_of({"noise": os.urandom(300_000)})

    def answer(connection: Connection, request: Received) -> bool:
        return connection.reply("200 OK", content)

    with serving(answer) as server:

        def work() -> None:
            place = tmp_path / "place"
            place.mkdir()
            mount_tmpfs(place, "size=200k,mode=700")
            with pytest.raises(GetModulesError) as caught:
                client(place / "store").get(f"{server.url}/p.zip", place / "dest")
            assert caught.value.code == "install/no-space"
            assert os.listdir(place) == ["store"]
            nothing_half(place / "store")

        in_mount_namespace(work)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives things away")
def test_somebody_elses_store_is_refused(registry: Registry, root: Path, tmp_path: Path) -> None:
    a_home(root)
    os.chown(root, ORDINARY, ORDINARY)
    before = snapshot(root)
    source = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
    refusal(ConfigError, "config", client(root).get, source, tmp_path / "dest")
    assert (kinds(registry), snapshot(root), (tmp_path / "dest").exists()) == ({}, before, False)
    done = run("get", source, "dest", cwd=tmp_path, GETMODULES_CACHE_DIR=str(root))
    assert done.code == 2
    assert "belongs to somebody else" in done.err
    assert run("get", source, "dest", "--no-cache", cwd=tmp_path, GETMODULES_CACHE_DIR=str(root)).code == 0


# ------------------------------------------------------------------------------------------------ processes


def finish(children: list[subprocess.Popen[str]]) -> list[Result]:
    ended = []
    for child in children:
        out, err = child.communicate(timeout=PATIENCE)
        assert "Traceback" not in err
        ended.append(Result(child.returncode, out, err))
    return ended


def get_in_children(source: str, root: Path, place: Path, count: int = PROCESSES) -> list[subprocess.Popen[str]]:
    return [
        start("get", source, f"dest-{number}", cwd=place, GETMODULES_CACHE_DIR=str(root)) for number in range(count)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("pinned", [True, False], ids=["a pin", "a tag"])
def test_of_eight_processes_one_downloads(registry: Registry, root: Path, tmp_path: Path, pinned: bool) -> None:
    source = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
    if pinned:
        source = client(tmp_path / "other").resolve(source).pinned
    kinds(registry)
    ended = finish(get_in_children(source, root, tmp_path))
    assert [each.code for each in ended] == [0] * PROCESSES, ended
    found = kinds(registry)
    assert found["blobs"] == 1
    assert found["manifests"] <= PROCESSES
    assert len({each.out.partition("\n")[2] for each in ended}) == 1
    trees = [snapshot(tmp_path / f"dest-{number}") for number in range(PROCESSES)]
    assert trees == [trees[0]] * PROCESSES
    nothing_half(root)


class Slow:
    """A web server whose first answer stops in its middle until it is let go."""

    def __init__(self) -> None:
        self.halfway = threading.Event()
        self.go = threading.Event()
        self.answers = 0

    def __call__(self, connection: Connection, request: Received) -> bool:
        self.answers += 1
        if self.answers > 1:
            return connection.reply("200 OK", ZIP)
        connection.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(ZIP)}\r\n\r\n")
        connection.send(ZIP[:100])
        self.halfway.set()
        self.go.wait(PATIENCE)
        connection.send(ZIP[100:])
        return True


def said(child: subprocess.Popen[str], words: str) -> None:
    assert child.stderr is not None
    for line in child.stderr:
        if words in line:
            return
    raise AssertionError(f"it never said {words!r}")


@pytest.mark.parametrize("end", [None, signal.SIGKILL, signal.SIGINT], ids=["done", "killed", "interrupted"])
def test_a_waiter_says_so_and_goes_on_when_the_other_one_ends(
    root: Path, tmp_path: Path, end: signal.Signals | None
) -> None:
    slow = Slow()
    with serving(slow) as server:
        source = f"{server.url}/p.zip?checksum=sha256:{ZIP_SHA256}"
        (first,) = get_in_children(source, root, tmp_path, 1)
        assert slow.halfway.wait(PATIENCE)
        second = start("get", source, "second", cwd=tmp_path, GETMODULES_CACHE_DIR=str(root))
        said(second, "waiting for somebody else who fetches the same, or from the same place")
        if end is None:
            slow.go.set()
        else:
            first.send_signal(end)
        (one,) = finish([first])
        (two,) = finish([second])
        slow.go.set()
        assert one.code == {None: 0, signal.SIGKILL: -signal.SIGKILL, signal.SIGINT: 130}[end]
        assert two.code == 0, two.err
        assert slow.answers == (1 if end is None else 2)
        assert Client(environ={}, cache_dir=root).get(source, tmp_path / "third").h1 == ZIP_H1
        assert slow.answers == (1 if end is None else 2)
    assert client(root).get(source, tmp_path / "fourth").h1 == ZIP_H1
    if end is signal.SIGKILL:  # what it left beside its destination, the next run there removes
        client(root).get(source, tmp_path / "dest-0")
    assert sorted(os.listdir(tmp_path)) == sorted(
        ["second", "third", "fourth", "store", *(["dest-0"] if end is not signal.SIGINT else [])]
    )
    run("cache", "clean", GETMODULES_CACHE_DIR=str(root))
    nothing_half(root)


def test_what_a_killed_run_left_in_the_store_is_swept(root: Path, tmp_path: Path) -> None:
    slow = Slow()
    with serving(slow) as server:
        (child,) = get_in_children(f"{server.url}/p.zip", root, tmp_path, 1)
        assert slow.halfway.wait(PATIENCE)
        wait_until(lambda: len(list(root.glob("ingest/*"))) == 1)
        child.kill()
        finish([child])
        slow.go.set()
        assert len(os.listdir(root / "ingest")) == 1
        client(root).get(f"{server.url}/p.zip", tmp_path / "dest")
    nothing_half(root)


@pytest.mark.slow
def test_eight_processes_and_somebody_who_cleans_all_the_time(registry: Registry, root: Path, tmp_path: Path) -> None:
    """Pruned, cleaned and removed while they run: each gets its package, and the store is never half of one."""
    registry.push("acme/image", image_package([FILES, {"more": "x" * 100_000}]), "1")
    stop = threading.Event()
    rounds = [0]

    def janitor() -> None:
        while not stop.is_set():
            clean(a_home(root))
            if rounds[0] % 5 == 4:
                shutil.rmtree(root, ignore_errors=True)
            rounds[0] += 1

    cleaner = threading.Thread(target=janitor)
    cleaner.start()
    try:
        loop = 'for i in 1 2 3; do "$0" get "$1" "$2-$i" -q || exit 1; done'
        children = [
            subprocess.Popen(
                ["sh", "-c", loop, COMMAND,
                 f"oci://{registry.host}/acme/{'image?tag=1' if number % 2 else 'vpc?tag=1.0.0'}", f"d{number}"],
                cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env=environment(GETMODULES_CACHE_DIR=str(root)),
            )
            for number in range(PROCESSES)
        ]  # fmt: skip
        ended = finish(children)
    finally:
        stop.set()
        cleaner.join(PATIENCE)
    assert [each.code for each in ended] == [0] * PROCESSES, [each.err for each in ended]
    assert rounds[0] > 5
    for kind in (0, 1):
        trees = [snapshot(tmp_path / f"d{number}-{turn}") for number in range(kind, PROCESSES, 2) for turn in (1, 2, 3)]
        assert trees == [trees[0]] * len(trees)
    client(root).get(f"oci://{registry.host}/acme/vpc?tag=1.0.0", tmp_path / "last")
    nothing_half(root)


# -------------------------------------------------------------------------------------------------- offline


@pytest.fixture
def strace() -> str:
    return need("strace")


@pytest.mark.slow
def test_offline_no_socket_is_made(strace: str, registry: Registry, root: Path, tmp_path: Path) -> None:
    source = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
    client(root).get(source, tmp_path / "first")
    with serving(a_site('"1"')) as server:
        client(root).get(f"{server.url}/p.zip", tmp_path / "second")
    kinds(registry)
    cases = [
        (source, 0, "offline: as it was on "),
        (f"{server.url}/p.zip", 0, "offline: as it was on "),
        (f"oci://{registry.host}/acme/missing?tag=1", 6, "is not in the cache"),
        ("https://nosuch.invalid/p.zip", 6, "is not in the cache"),
        ("git::https://nosuch.invalid/r.git?ref=v1", 6, "offline"),
        ("git::ssh://git@nosuch.invalid/r.git?ref=v1", 6, "offline"),
    ]
    for number, (address, code, words) in enumerate(cases):
        log = tmp_path / f"log-{number}"
        done = subprocess.run(
            [strace, "-f", "-qq", "-e", "trace=network", "-o", log,
             COMMAND, "get", address, tmp_path / f"dest-{number}", "--offline"],
            env=environment(GETMODULES_CACHE_DIR=str(root), HOME=str(tmp_path)),
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == code, (address, done.stderr)
        assert words in done.stderr, (address, done.stderr)
        assert _sockets(log) == [], address
        assert (tmp_path / f"dest-{number}").exists() == (code == 0)
    assert kinds(registry) == {}


def _sockets(log: Path) -> list[str]:
    """Calls that reach out: a pair of sockets within a process does not."""
    lines = log.read_text(errors="replace").splitlines()
    return [line for line in lines if "socket(" in line or "connect(" in line or "sendto(" in line]


def test_offline_and_no_cache_exclude_each_other(tmp_path: Path) -> None:
    done = run("get", "./x", "dest", "--offline", "--no-cache", cwd=tmp_path)
    assert done.code == 2
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------------------------------- secrets

SECRET = "S3cr3tS3cr3tS3cr3t"


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("http://ada:{secret}@{host}/p.zip", id="a password"),
        pytest.param("http://{secret}@{host}/p.zip", id="a token as a user"),
        pytest.param("http://{host}/p.zip?token={secret}", id="a token"),
        pytest.param("http://{host}/p.zip?X-Amz-Credential=x&X-Amz-Signature={secret}&X-Amz-Date=1", id="signed"),
        pytest.param("http://{host}/p.zip?sig={secret}&se=1", id="signed otherwise"),
        pytest.param("http://{host}/p.zip", id="a token of the environment"),
        pytest.param("http://{host}/module", id="sent on to a signed address"),
    ],
)
def test_no_secret_gets_into_the_store(root: Path, tmp_path: Path, address: str) -> None:
    def answer(connection: Connection, request: Received) -> bool:
        """A server that puts all that it hears into what it says."""
        if request.target.startswith("/module"):
            there = f"/p.zip?token={SECRET}"
            return connection.reply("204 No Content", X_Terraform_Get=there)
        heard = request.headers.get("Authorization", SECRET if SECRET in request.target else "")
        return connection.reply("200 OK", ZIP, ETag=f'"{heard}"', Content_Type="application/zip", X_Heard=heard)

    with serving(answer) as server:
        host = f"{server.host}:{server.port}"
        environ = {}
        if address.endswith("/p.zip") and "@" not in address:
            environ = {f"GETMODULES_TOKEN_{host.replace('.', '_').replace(':', '_')}": SECRET}
        asking = Client(environ=environ, cache_dir=root)
        source = address.format(secret=SECRET, host=host)
        for name in ("one", "two"):
            assert asking.get(source, tmp_path / name).h1 == ZIP_H1
    assert len(blobs_of(root)) == 1
    for path in root.rglob("*"):
        assert SECRET not in str(path)
        if stat.S_ISREG(path.lstat().st_mode):
            assert SECRET.encode() not in path.read_bytes()
