"""Many packages from real servers: what is asked for, and how it stops."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules import Client, Limits, Phase, Progress
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.pipeline.batch import Job, Pace, install_all
from getmodules.pipeline.operation import Operation
from getmodules.testing import Registry
from tests.support.fakes import ZIP
from tests.support.servers import Connection, Received, serving
from tests.support.snapshots import snapshot
from tests.support.stores import a_home, nothing_half

#: It takes a fraction of a second; a busy machine may take longer, and what hangs takes for ever.
SOON = 5.0
COUNT = 50


def jobs_of(client: Client, sources: list[str], place: Path) -> list[Job]:
    return [
        Job(name=f"m{number:02}", address=client.detect(source), dest=place / f"m{number:02}", source=source)
        for number, source in enumerate(sources)
    ]


@pytest.fixture
def network() -> Iterator[ClientNetwork]:
    network = ClientNetwork(NetSettings())
    yield network
    network.close()


def an_operation(client: Client, network: ClientNetwork, store: Path, progress: Progress | None = None) -> Operation:
    return Operation(
        catalog=client.catalog,
        limits=Limits(),
        progress=progress or Progress(),
        network=network,
        open_cache=lambda: a_home(store),
    )


def test_fifty_parts_of_one_package_are_two_requests(tmp_path: Path, network: ClientNetwork) -> None:
    files = {f"m{number:02}/main.tf": f"# {number}\n" for number in range(COUNT)}
    client = Client(environ={})
    with Registry() as registry:
        registry.push_module("acme/all", "1", files)
        sources = [f"oci://{registry.host}/acme/all//m{number:02}?tag=1" for number in range(COUNT)]
        outcome = install_all(
            jobs_of(client, sources, tmp_path / "one"), an_operation(client, network, tmp_path / "store")
        )
        assert (len(outcome.done), outcome.failures) == (COUNT, ())
        assert len(registry.requests) == 2
        pinned = [str(each.pinned) for each in outcome.done.values()]
        registry.forget_requests()
        again = install_all(
            jobs_of(client, pinned, tmp_path / "two"), an_operation(client, network, tmp_path / "store")
        )
        assert (len(again.done), len(registry.requests)) == (COUNT, 0)
    assert snapshot(tmp_path / "one") == snapshot(tmp_path / "two")
    nothing_half(tmp_path / "store")


def test_one_bad_part_of_fifty_costs_no_further_request(tmp_path: Path, network: ClientNetwork) -> None:
    client = Client(environ={})
    (tmp_path / "m07").mkdir()
    (tmp_path / "m07" / "mine").touch()
    with Registry() as registry:
        registry.push_module("acme/all", "1", {f"m{number:02}/main.tf": "" for number in range(COUNT)})
        parts = [f"m{number:02}" for number in range(COUNT)]
        parts[31] = "nowhere"
        sources = [f"oci://{registry.host}/acme/all//{part}?tag=1" for part in parts]
        sources += [f"oci://{registry.host}/acme/missing?tag=1"]
        outcome = install_all(jobs_of(client, sources, tmp_path), an_operation(client, network, tmp_path / "store"))
        blobs = [request for request in registry.requests if "/blobs/" in request.path]
    assert [(each.module, each.error.code) for each in outcome.failures] == [
        ("m07", "destination-exists"),
        ("m31", "subdirectory-not-found"),
        ("m50", "not-found"),
    ]
    assert len(outcome.done) == COUNT - 2
    assert len(blobs) == 1
    assert os.listdir(tmp_path / "m07") == ["mine"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("enough")], ids=["interrupt", "exception"])
def test_servers_that_never_finish_do_not_keep_anybody(
    tmp_path: Path, network: ClientNetwork, error: BaseException
) -> None:
    everybody = threading.Barrier(9)

    def answer(connection: Connection, request: Received) -> bool:
        connection.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(ZIP)}\r\n\r\n")
        connection.send(ZIP[:100])
        everybody.wait(60)
        connection.sleep(60)
        return False

    class Stop(Progress):
        stopped = 0.0

        def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
            if "stop" in package and phase is Phase.DOWNLOADING:
                everybody.wait(60)
                self.stopped = time.monotonic()
                raise error

    stop = Stop()
    client = Client(environ={})
    with serving(answer) as server:
        sources = [f"{server.url}/{number}.zip" for number in range(8)] + ["http://127.0.0.2:9/stop.zip"]
        operation = an_operation(client, network, tmp_path / "store", stop)
        with pytest.raises(type(error)):
            install_all(jobs_of(client, sources, tmp_path / "new" / "place"), operation, Pace(jobs=9))
        took = time.monotonic() - stop.stopped
        assert [thread.name for thread in threading.enumerate() if thread.name.startswith("getmodules_")] == []
        assert took < SOON
    assert os.listdir(tmp_path) == ["store"]
    nothing_half(tmp_path / "store")
