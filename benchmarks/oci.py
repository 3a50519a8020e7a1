"""OCI packages, side by side with what one would use instead; ratios are the result.

    python benchmarks/oci.py [--rounds N] [--quick] [--only small|large|many …] [--work DIRECTORY]

* small: one small module by tag, in process, against its two bare requests and an unzip (goal: at most 1.5 times).
* large: 200 MB, verified and unpacked, against `oras pull` and `unzip`, as whole processes (at most 1.0 times).
* many: 50 modules over TLS and a proxy that adds 20 ms, through one client in threads, against the same client
  one after the other (at least 5 times faster) and `tofu get` where it is found (at least 8 times).

The registry is docker-registry where it is found, else our own in a process of its own. Nothing is kept from round to
round, and what all of them produced is compared first. DIRECTORY should be on a tmpfs (/dev/shm): what is compared is
not the disk. Ends with 1 where a goal is missed.
"""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import requests

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import getmodules
from benchmarks.files import digests, tree, trees
from benchmarks.harness import (
    Rival,
    Row,
    arguments,
    at_least,
    at_most,
    compared,
    perform,
    show,
    take_turns,
    times_as_fast,
    workplace,
)
from benchmarks.processes import DELAY_SECONDS, GETMODULES, delayed, run, tool
from benchmarks.terraform import terraform_get
from getmodules.net.settings import NetSettings
from tests.support.certificates import Authority, make_authority

SMALL = {
    "main.tf": b"# x\n",
    **{f"modules/m{number}/main.tf": b'output "n%d" {}\n' % number * 20 for number in range(20)},
}
MODULES, THREADS = 50, 16
LARGE_BYTES = 200 << 20


# ------------------------------------------------------------------------------------------ the registry


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def registry(work: Path, tls: Authority | None = None) -> Iterator[str]:
    """A registry in a process of its own; where it listens."""
    port = free_port()
    program = tool("docker-registry")
    if program:
        http: dict[str, object] = {"addr": f"127.0.0.1:{port}"}
        if tls:
            http["tls"] = {"certificate": str(tls.certificate), "key": str(tls.key)}
        config = {
            "version": 0.1,
            "log": {"level": "error", "accesslog": {"disabled": True}},
            "storage": {"filesystem": {"rootdirectory": str(work / f"registry-{port}")}},
            "http": http,
        }
        path = work / f"registry-{port}.yml"
        path.write_text(json.dumps(config))
        command = [program, "serve", str(path)]
    else:
        command = [sys.executable, "-m", "getmodules.testing.registry", "--port", str(port)]
        if tls:
            command += ["--tls-cert", str(tls.certificate), "--tls-key", str(tls.key)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def fill(directory: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
    return directory


def installed(place: Path) -> dict[str, bytes]:
    return tree(place / "dest")


# ------------------------------------------------------------------------------------------ the three jobs


def small(work: Path, rounds: int) -> bool:
    with (
        registry(work) as host,
        getmodules.Client(environ={}) as client,
        requests.Session() as session,
    ):
        client.push(fill(work / "small", SMALL), f"oci://{host}/acme/small?tag=1")
        session.trust_env = False

        def bare(place: Path) -> None:
            headers = {"Accept": "application/vnd.oci.image.manifest.v1+json"}
            manifest = session.get(f"http://{host}/v2/acme/small/manifests/1", headers=headers).json()
            blob = session.get(f"http://{host}/v2/acme/small/blobs/{manifest['layers'][0]['digest']}").content
            zipfile.ZipFile(io.BytesIO(blob)).extractall(place / "dest")

        def ours(place: Path) -> None:
            client.get(f"oci://{host}/acme/small?tag=1", place / "dest")

        peer = "bare requests + zipfile"
        rivals = [Rival(peer, bare, installed), Rival("getmodules", ours, installed)]
        measured = take_turns(rivals, rounds * 5, work, expected=digests(SMALL))
    rows = compared(measured, peer, goals={"getmodules": at_most(1.5)})
    return show("one small module by tag, in process", rows)


def large(work: Path, rounds: int) -> bool:
    title, peer = "200 MB, whole processes", "oras pull + unzip"
    oras = tool("oras")
    if oras is None:
        return show(title, [Row(peer, None, note="it is not here")])
    with registry(work) as host, getmodules.Client(environ={}) as publisher:
        source = fill(work / "large", {f"noise-{number}": os.urandom(LARGE_BYTES // 4) for number in range(4)})
        publisher.push(source, f"oci://{host}/acme/large?tag=1")

        def pull(place: Path) -> None:
            run(oras, "pull", "--plain-http", "--no-tty", f"{host}/acme/large:1", "-o", place, place=place)
            run("unzip", "-q", place / "module.zip", "-d", place / "dest", place=place)

        def ours(place: Path) -> None:
            # A cache of its own, so that everything is fetched in each round.
            environ = {"GETMODULES_CACHE_DIR": str(place / "cache")}
            run(GETMODULES, "get", f"oci://{host}/acme/large?tag=1", place / "dest", place=place, environ=environ)

        rivals = [Rival(peer, pull, installed), Rival("getmodules", ours, installed)]
        measured = take_turns(rivals, rounds, work, expected=tree(source))
    return show(title, compared(measured, peer, goals={"getmodules": at_most(1.0)}))


def many(work: Path, rounds: int) -> bool:
    authority = make_authority(work)
    network = NetSettings(ca_file=str(authority.ca))
    modules = {f"m{number}": {**SMALL, "name.tf": b"# %d\n" % number} for number in range(MODULES)}
    with registry(work, authority) as host, delayed(host) as far:
        sources = {name: f"oci://{far}/acme/{name}?tag=1" for name in modules}
        with getmodules.Client(environ={}, network=network) as publisher, ThreadPoolExecutor(8) as pool:

            def publish(name: str) -> None:
                publisher.push(fill(work / name, modules[name]), f"oci://{host}/acme/{name}?tag=1")

            list(pool.map(publish, modules))

        def ours(threads: int, place: Path) -> None:
            with getmodules.Client(environ={}, network=network) as client, ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda name: client.get(sources[name], place / name), sources))

        def made(place: Path) -> dict[str, dict[str, bytes]]:
            return trees({name: place / name for name in modules})

        one, threads = "getmodules, one after the other", f"getmodules, {THREADS} threads"
        rivals = [Rival(one, partial(ours, 1), made), Rival(threads, partial(ours, THREADS), made)]
        tofu = terraform_get("tofu", sources, {"SSL_CERT_FILE": str(authority.ca)})
        rivals += [tofu] if tofu is not None else []
        expected = {name: digests(files) for name, files in modules.items()}
        measured = take_turns(rivals, rounds, work, expected=expected)
    rows = compared(measured, one)
    rows += [times_as_fast(measured, threads, peer, at_least(bound)) for peer, bound in ((one, 5), ("tofu get", 8))]
    return show(f"{MODULES} modules over TLS, {2000 * DELAY_SECONDS:.0f} ms round trip", rows)


def main() -> int:
    jobs = (small, large, many)
    options = arguments(__doc__, [job.__name__ for job in jobs]).parse_args()
    with workplace(options.work) as work:
        return perform({job.__name__: partial(job, work, options.rounds) for job in jobs}, options.only)


if __name__ == "__main__":
    sys.exit(main())
