"""Packages over HTTP, side by side with what one would use instead; ratios are the result.

    python benchmarks/http_get.py [--quick] [--rounds N] [--only large|memory|many|small] [--work DIRECTORY]

* large: 500 MB downloaded, hashed and written, in process, against the slower of `curl -o` and bare hashing of the
  same bytes (goal: at most 1.2 times); and, without a goal, as a package that is installed, which hashes and writes
  the content once more as a tree.
* memory: what 500 MB add to the memory that a process needs for 5 MB (flat: at most 64 MiB).
* many: 50 archives of 50 KB over a proxy that adds 20 ms, through one client in threads, in process, against
  the same client one after the other (at least 3 times as fast), `terraform get` (at least 10 times) and eight
  go-getters at once (at least twice), where they are found.
* small: one small archive as a whole process, against a Python that does `requests.get` and `zipfile` (at most
  1.35 times).

nginx on loopback serves. Nothing is kept from run to run, and what all of them produced is compared first.
DIRECTORY should be on a tmpfs (/dev/shm): what is compared is not the disk. (Named http.py, this file would stand
in front of Python's own module of that name.)
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import random
import shutil
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import getmodules
from benchmarks.harness import DELAY_SECONDS, GETMODULES, MEMORY, Rival, delayed, measure, run, show, tool, verdict
from getmodules.arriving import Arriving
from getmodules.getters.http import HttpGetter
from getmodules.model import Pin, Shape
from getmodules.net.network import ClientNetwork
from getmodules.net.settings import NetSettings
from getmodules.spool import spool
from tests.contexts import a_context
from tests.nginx import nginx
from tests.snapshots import snapshot

MODULES, MODULE_BYTES, THREADS = 50, 50_000, 16
LARGE_BYTES, LITTLE_BYTES = 500_000_000, 5_000_000
FLAT_BYTES = 64 << 20

#: What somebody would write in place of us.
BARE = """\
import io, sys, zipfile, requests
answer = requests.get(sys.argv[1])
answer.raise_for_status()
zipfile.ZipFile(io.BytesIO(answer.content)).extractall(sys.argv[2])
"""
ONE_FILE = """\
import resource, sys, getmodules
with getmodules.Client(environ={}, use_cache=False) as client:
    client.get(sys.argv[1], sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
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


# ------------------------------------------------------------------------------------------ measuring


def compare(rivals: dict[str, Rival], expected: dict[str, bytes], work: Path) -> None:
    """All of them leave the same files below ``dest``; also a first run that nobody counts."""
    for name, rival in rivals.items():
        place = Path(tempfile.mkdtemp(dir=work))
        rival(place)
        found = {path: data for path, (mode, data) in snapshot(place / "dest").items() if mode[0] == "-"}
        assert found == expected, f"{name} made something else"
        shutil.rmtree(place)


# ------------------------------------------------------------------------------------------ the jobs


def large(work: Path, rounds: int) -> None:
    with nginx(work / "large") as server, getmodules.Client(environ={}, use_cache=False) as client:
        original = server.root / "large.bin"
        _noise(original, LARGE_BYTES)
        url = f"{server.url}/large.bin"
        network = ClientNetwork(NetSettings())
        package = client.detect(url).package

        def curl(place: Path) -> None:
            run("curl", "-sS", "-o", "large.bin", url, place=place)

        def hashing(place: Path) -> None:
            with original.open("rb", buffering=0) as file:
                hashlib.file_digest(file, "sha256")

        def download(place: Path) -> None:
            context = a_context(network=network, environ={}, shape=Shape.FILE)
            blob = HttpGetter().fetch(Pin(package=package), (), context)
            with closing(Arriving(place / "large.bin")) as into:
                spool(blob, into, (), context)

        def ours(place: Path) -> None:
            client.get(f"{url}?archive=false", place / "dest")

        def sha256(path: Path) -> str:
            with path.open("rb", buffering=0) as file:
                return hashlib.file_digest(file, "sha256").hexdigest()

        place = Path(tempfile.mkdtemp(dir=work))
        ours(place)
        assert sha256(place / "dest" / "large.bin") == sha256(original)
        shutil.rmtree(place)
        rivals = {"curl -o": curl, "bare hashing": hashing, "getmodules": download, "getmodules, and installed": ours}
        medians = measure(rivals, rounds, work)
        show(f"{LARGE_BYTES // 10**6} MB downloaded, hashed and written ({_sha_extensions()})", medians)
        slower = max(medians["curl -o"], medians["bare hashing"])
        verdict("x the slower of curl and hashing", medians["getmodules"] / slower, 1.2, at_most=True)
        original.unlink()


def _noise(path: Path, size: int) -> None:
    noise = random.Random(size)
    with path.open("wb") as file:
        for _ in range(size // 1_000_000):
            file.write(noise.randbytes(1_000_000))


def _sha_extensions() -> str:
    try:
        return "with SHA-NI" if " sha_ni" in Path("/proc/cpuinfo").read_text() else "no SHA-NI"
    except OSError:
        return "whether there is SHA-NI is not known"


def memory(work: Path, rounds: int) -> None:
    unit = 1 if sys.platform == "darwin" else 1024
    with nginx(work / "memory") as server:
        peaks = []
        for size in (LITTLE_BYTES, LARGE_BYTES):
            _noise(server.root / str(size), size)
            place = Path(tempfile.mkdtemp(dir=work))
            address = f"{server.url}/{size}?archive=false"
            said = subprocess.check_output([sys.executable, "-c", ONE_FILE, address, str(place / "dest")], text=True)
            peaks.append(int(said) * unit)
            shutil.rmtree(place)
            (server.root / str(size)).unlink()
        print(f"\nmemory: {peaks[0] >> 20} MiB for {LITTLE_BYTES // 10**6} MB, {peaks[1] >> 20} MiB for 500 MB")
        verdict("MiB more", (peaks[1] - peaks[0]) / (1 << 20), FLAT_BYTES >> 20, at_most=True)


def many(work: Path, rounds: int) -> None:
    with nginx(work / "many") as server, delayed(f"127.0.0.1:{server.port}") as far:
        slow = f"http://{far}"
        for number in range(MODULES):
            write_zip(server.root / f"m{number}.zip", module(number))

        def ours(threads: int) -> Rival:
            def get(place: Path) -> None:
                with (
                    getmodules.Client(environ={}, use_cache=False) as client,
                    ThreadPoolExecutor(threads) as pool,
                ):
                    list(
                        pool.map(
                            lambda number: client.get(f"{slow}/m{number}.zip", place / "dest" / f"m{number}"),
                            range(MODULES),
                        )
                    )

            return get

        one, threads = "getmodules, one after the other", f"getmodules, {THREADS} threads"
        rivals = {one: ours(1), threads: ours(THREADS)}
        go_getter, terraform = tool("go-getter"), tool("terraform")
        if go_getter is not None:

            def go_getters(place: Path) -> None:
                (place / "dest").mkdir()
                with ThreadPoolExecutor(8) as pool:
                    list(
                        pool.map(
                            lambda number: run(go_getter, f"{slow}/m{number}.zip", f"dest/m{number}", place=place),
                            range(MODULES),
                        )
                    )

            rivals["eight go-getters at once"] = go_getters
        expected = {f"m{n}/{name}": data for n in range(MODULES) for name, data in module(n).items()}
        compare(rivals, expected, work)
        if terraform is not None:
            # What it installs is not compared: it says itself where that is.
            calls = "".join(f'module "m{n}" {{\n  source = "{slow}/m{n}.zip"\n}}\n' for n in range(MODULES))

            def terraform_get(place: Path) -> None:
                (place / "main.tf").write_text(calls)
                run(terraform, "get", place=place)

            rivals["terraform get"] = terraform_get
        medians = measure(rivals, rounds, work)
        show(f"{MODULES} archives of {MODULE_BYTES // 1000} KB, {2000 * DELAY_SECONDS:.0f} ms round trip", medians)
        goals = {one: 3.0, "eight go-getters at once": 2.0, "terraform get": 10.0}
        for name, goal in goals.items():
            if name in medians:
                verdict(f"times as fast as {name}", medians[name] / medians[threads], goal, at_most=False)
            else:
                print(f"  not here: {name}")


def small(work: Path, rounds: int) -> None:
    with nginx(work / "small") as server:
        files = {f"m{number}.tf": f'output "n{number}" {{}}\n'.encode() * 5 for number in range(5)}
        write_zip(server.root / "small.zip", files)
        url = f"{server.url}/small.zip"
        rivals: dict[str, Rival] = {
            "python, requests.get + zipfile": lambda place: run(sys.executable, "-c", BARE, url, "dest", place=place),
            "getmodules get": lambda place: run(GETMODULES, "get", url, "dest", place=place),
        }
        compare(rivals, files, work)
        medians = measure(rivals, rounds * 3, work)
        show("one small archive, whole processes", medians)
        bare, ours = medians.values()
        verdict("x python with requests.get and zipfile", ours / bare, 1.35, at_most=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="three rounds: does it run, and about where are we?")
    parser.add_argument("--only", choices=["large", "memory", "many", "small"])
    parser.add_argument("--work", type=Path, default=MEMORY)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.work, prefix="getmodules-bench-") as directory:
        for job in (large, memory, many, small):
            if options.only in (None, job.__name__):
                job(Path(directory), 3 if options.quick else options.rounds)


if __name__ == "__main__":
    main()
