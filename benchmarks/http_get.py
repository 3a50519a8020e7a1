"""Packages over HTTP, side by side with what one would use instead; ratios are the result.

    python benchmarks/http_get.py [--rounds N] [--quick] [--only large|memory|many|small …] [--work DIRECTORY]

* large: 500 MB downloaded, hashed and written, in process, against the slower of `curl -o` and bare hashing of the
  same bytes (goal: at most 1.2 times); and, without a goal, as a package that is installed, which hashes and writes
  the content once more as a tree.
* memory: what 500 MB add to the memory that a process needs for 5 MB (flat: at most 64 MiB).
* many: 50 archives of 50 KB over a proxy that adds 20 ms, through one client in threads, in process, against
  the same client one after the other (at least 3 times as fast), `terraform get` (at least 10 times) and eight
  go-getters at once (at least twice), where they are found.
* small: one small archive as a whole process, against a Python that does `requests.get` and `zipfile` (at most
  1.35 times).

nginx on loopback serves. Nothing is kept from round to round, and what all of them produced is compared first.
DIRECTORY should be on a tmpfs (/dev/shm): what is compared is not the disk. Ends with 1 where a goal is missed. (Named
http.py, this file would stand in front of Python's own module of that name.)
"""

from __future__ import annotations

import base64
import hashlib
import random
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import getmodules
from benchmarks.files import digests, sha_instructions, tree, trees
from benchmarks.harness import (
    Rival,
    Row,
    arguments,
    at_least,
    at_most,
    compared,
    fresh,
    perform,
    show,
    take_turns,
    times_as_fast,
    workplace,
)
from benchmarks.processes import DELAY_SECONDS, GETMODULES, delayed, peak_memory, run, tool
from benchmarks.terraform import terraform_get
from getmodules.api.model import Blob, Pin, Shape
from getmodules.files.download_file import DownloadFile
from getmodules.getters.http.plugin import HttpGetter
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.pipeline.spool import spool
from tests.support.contexts import a_context
from tests.support.nginx import nginx

MODULES, MODULE_BYTES, THREADS = 50, 50_000, 16
LARGE_BYTES, LITTLE_BYTES = 500_000_000, 5_000_000
FLAT_MIB = 64

#: The code that one would write without us.
BARE = """\
import io, sys, zipfile, requests
answer = requests.get(sys.argv[1])
answer.raise_for_status()
zipfile.ZipFile(io.BytesIO(answer.content)).extractall(sys.argv[2])
"""
ONE_FILE = """\
import sys, getmodules
with getmodules.Client(environ={}, use_cache=False) as client:
    client.get(sys.argv[1], sys.argv[2])
"""


def module(number: int) -> dict[str, bytes]:
    """Twenty files of comments that no compression makes smaller than the noise in them."""
    noise = random.Random(number)
    names = ["main.tf", *(f"modules/m{each}/main.tf" for each in range(19))]
    return {name: b"# " + base64.b64encode(noise.randbytes(MODULE_BYTES // len(names))) + b"\n" for name in names}


def write_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def installed(place: Path) -> dict[str, bytes]:
    return tree(place / "dest")


# ------------------------------------------------------------------------------------------ the jobs


def large(work: Path, rounds: int) -> bool:
    with nginx(work / "large") as server, getmodules.Client(environ={}, use_cache=False) as client:
        original = server.root / "large.bin"
        _noise(original, LARGE_BYTES)
        url = f"{server.url}/large.bin"
        network = ClientNetwork(NetSettings())
        package = client.detect(url).package

        def hashing(place: Path) -> None:
            with original.open("rb", buffering=0) as file:
                hashlib.file_digest(file, "sha256")

        def download(place: Path) -> None:
            context = a_context(network=network, environ={}, shape=Shape.FILE)
            blob = HttpGetter().fetch(Pin(package=package), (), context)
            assert isinstance(blob, Blob)
            with closing(DownloadFile(lambda: place / "large.bin")) as into:
                spool(blob, into, (), context)

        rivals = [
            Rival("curl -o", lambda place: run("curl", "-sS", "-o", "large.bin", url, place=place), tree),
            Rival("bare hashing", hashing),
            Rival("getmodules", download, tree),
            Rival(
                "getmodules, and installed",
                lambda place: client.get(f"{url}?archive=false", place / "dest"),
                installed,
            ),
        ]
        measured = take_turns(rivals, rounds, work, expected=tree(server.root))
        original.unlink()
    rows = compared(measured, "curl -o")
    slower = max(measured[name].seconds for name in ("curl -o", "bare hashing"))
    ratio = measured["getmodules"].seconds / slower
    rows.append(Row("getmodules, of the slower of curl and hashing", ratio, "x", goal=at_most(1.2)))
    return show(f"{LARGE_BYTES // 10**6} MB downloaded, hashed and written ({sha_instructions()})", rows)


def _noise(path: Path, size: int) -> None:
    noise = random.Random(size)
    with path.open("wb") as file:
        for _ in range(size // 1_000_000):
            file.write(noise.randbytes(1_000_000))


def memory(work: Path, rounds: int) -> bool:
    """Compare the peaks of memory, for which rounds do not matter."""
    rows, peaks = [], []
    with nginx(work / "memory") as server:
        for size in (LITTLE_BYTES, LARGE_BYTES):
            _noise(server.root / str(size), size)
            address = f"{server.url}/{size}?archive=false"
            with fresh(work) as place:
                peaks.append(peak_memory(sys.executable, "-c", ONE_FILE, address, "dest", place=place))
            rows.append(Row(f"{size // 10**6} MB", peaks[-1], "MiB"))
            (server.root / str(size)).unlink()
    return show("memory", [*rows, Row("more", peaks[1] - peaks[0], "MiB", goal=at_most(FLAT_MIB))])


def many(work: Path, rounds: int) -> bool:
    modules = {f"m{number}": module(number) for number in range(MODULES)}
    with nginx(work / "many") as server, delayed(f"127.0.0.1:{server.port}") as far:
        for name, files in modules.items():
            write_zip(server.root / f"{name}.zip", files)
        sources = {name: f"http://{far}/{name}.zip" for name in modules}

        def ours(threads: int, place: Path) -> None:
            with getmodules.Client(environ={}, use_cache=False) as client, ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda name: client.get(sources[name], place / name), sources))

        def made(place: Path) -> dict[str, dict[str, bytes]]:
            return trees({name: place / name for name in modules})

        one, threads = "getmodules, one after the other", f"getmodules, {THREADS} threads"
        rivals = [Rival(one, partial(ours, 1), made), Rival(threads, partial(ours, THREADS), made)]
        go_getter, go_getters = tool("go-getter"), "eight go-getters at once"
        if go_getter is not None:

            def eight(place: Path) -> None:
                with ThreadPoolExecutor(8) as pool:
                    list(pool.map(lambda name: run(go_getter, sources[name], name, place=place), sources))

            rivals.append(Rival(go_getters, eight, made))
        terraform = terraform_get("terraform", sources)
        rivals += [terraform] if terraform is not None else []
        expected = {name: digests(files) for name, files in modules.items()}
        measured = take_turns(rivals, rounds, work, expected=expected)
    rows = compared(measured, one)
    goals = {one: 3, go_getters: 2, "terraform get": 10}
    rows += [times_as_fast(measured, threads, peer, at_least(bound)) for peer, bound in goals.items()]
    title = f"{MODULES} archives of {MODULE_BYTES // 1000} KB, {2000 * DELAY_SECONDS:.0f} ms round trip"
    return show(title, rows)


def small(work: Path, rounds: int) -> bool:
    with nginx(work / "small") as server:
        files = {f"m{number}.tf": f'output "n{number}" {{}}\n'.encode() * 5 for number in range(5)}
        write_zip(server.root / "small.zip", files)
        url, peer = f"{server.url}/small.zip", "python, requests.get + zipfile"
        rivals = [
            Rival(peer, lambda place: run(sys.executable, "-c", BARE, url, "dest", place=place), installed),
            Rival("getmodules get", lambda place: run(GETMODULES, "get", url, "dest", place=place), installed),
        ]
        measured = take_turns(rivals, rounds * 3, work, expected=digests(files))
    rows = compared(measured, peer, goals={"getmodules get": at_most(1.35)})
    return show("one small archive, whole processes", rows)


def main() -> int:
    jobs = (large, memory, many, small)
    options = arguments(__doc__, [job.__name__ for job in jobs]).parse_args()
    with workplace(options.work) as work:
        return perform({job.__name__: partial(job, work, options.rounds) for job in jobs}, options.only)


if __name__ == "__main__":
    sys.exit(main())
