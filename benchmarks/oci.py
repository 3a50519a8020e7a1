"""OCI packages, side by side with what one would use instead; ratios are the result.

    python benchmarks/oci.py [--rounds N] [--only small|large|many] [--work DIRECTORY]

* small: one small module by tag, in process, against its two bare requests and an unzip (goal: at most 1.5 times).
* large: 200 MB, verified and unpacked, against `oras pull` and `unzip`, as whole processes (at most 1.0 times).
* many: 50 modules over TLS and a proxy that adds 20 ms, through one client in threads, against the same client
  one after the other (at least 5 times faster) and `tofu get` where it is found (at least 8 times).

The registry is docker-registry where it is found, else our own in a process of its own. DIRECTORY should be on a
tmpfs (/dev/shm): what is compared is not the disk.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import requests

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import getmodules
from benchmarks.harness import DELAY_SECONDS, GETMODULES, MEMORY, Rival, delayed, measure, tool
from getmodules.net.settings import NetSettings

SMALL = {f"modules/m{number}/main.tf": f'output "n{number}" {{}}\n' * 20 for number in range(20)} | {"main.tf": "# x\n"}
MODULES = 50
LARGE_BYTES = 200 << 20


# ------------------------------------------------------------------------------------------ the registry


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def registry(work: Path, tls: tuple[Path, Path] | None) -> Iterator[str]:
    """A registry in a process of its own; where it listens."""
    port = free_port()
    program = tool("docker-registry")
    if program:
        config: dict[str, object] = {
            "version": 0.1,
            "log": {"level": "error", "accesslog": {"disabled": True}},
            "storage": {"filesystem": {"rootdirectory": str(work / f"registry-{port}")}},
            "http": {"addr": f"127.0.0.1:{port}"},
        }
        if tls:
            config["http"] = {"addr": f"127.0.0.1:{port}", "tls": {"certificate": str(tls[0]), "key": str(tls[1])}}
        path = work / f"registry-{port}.yml"
        path.write_text(json.dumps(config))
        command = [program, "serve", str(path)]
    else:
        command = [sys.executable, "-m", "getmodules.testing.registry", "--port", str(port)]
        if tls:
            command += ["--tls-cert", str(tls[0]), "--tls-key", str(tls[1])]
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


def certificate(work: Path) -> tuple[Path, Path]:
    """Self-signed, for loopback."""
    files = work / "server.crt", work / "server.key"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
            "-out", str(files[0]), "-keyout", str(files[1]),
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return files


def fill(directory: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(content)
    return directory


# ------------------------------------------------------------------------------------------ measuring


def report(title: str, medians: dict[str, float], against: str, ours: str, goal: str) -> None:
    print(f"\n{title}")
    for name, median in medians.items():
        print(f"  {name:36} {median * 1000:9.1f} ms   {median / medians[against]:5.2f} x {against}")
    ratio = medians[ours] / medians[against]
    print(f"  → {ratio:.2f} times the time of {against}, {1 / ratio:.1f} times as fast (goal: {goal})")


# ------------------------------------------------------------------------------------------ the three jobs


def small(work: Path, rounds: int) -> None:
    with registry(work, None) as host:
        client = getmodules.Client(environ={})
        client.push(fill(work / "small", SMALL), f"oci://{host}/acme/small?tag=1")
        session = requests.Session()
        session.trust_env = False

        def bare(place: Path) -> None:
            headers = {"Accept": "application/vnd.oci.image.manifest.v1+json"}
            manifest = session.get(f"http://{host}/v2/acme/small/manifests/1", headers=headers).json()
            blob = session.get(f"http://{host}/v2/acme/small/blobs/{manifest['layers'][0]['digest']}").content
            zipfile.ZipFile(io.BytesIO(blob)).extractall(place / "dest")

        def ours(place: Path) -> None:
            client.get(f"oci://{host}/acme/small?tag=1", place / "dest")

        for rival in (bare, ours):
            rival(Path(tempfile.mkdtemp(dir=work)))
        medians = measure({"bare requests + zipfile": bare, "getmodules": ours}, rounds * 5, work)
        report("one small module by tag, in process", medians, "bare requests + zipfile", "getmodules", "at most 1.5")
        client.close()


def large(work: Path, rounds: int) -> None:
    oras = tool("oras")
    if oras is None:
        print("\nlarge: skipped, there is no oras")
        return
    with registry(work, None) as host:
        source = work / "large"
        source.mkdir()
        for number in range(4):
            (source / f"noise-{number}").write_bytes(os.urandom(LARGE_BYTES // 4))
        getmodules.Client(environ={}).push(source, f"oci://{host}/acme/large?tag=1")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

        def peer(place: Path) -> None:
            subprocess.run(
                [oras, "pull", "--plain-http", "--no-tty", f"{host}/acme/large:1", "-o", str(place)],
                check=True,
                **quiet,
            )
            subprocess.run(["unzip", "-q", str(place / "module.zip"), "-d", str(place / "dest")], check=True, **quiet)

        def ours(place: Path) -> None:
            address = f"oci://{host}/acme/large?tag=1"
            subprocess.run([GETMODULES, "get", address, str(place / "dest")], check=True, **quiet)

        medians = measure({"oras pull + unzip": peer, "getmodules": ours}, rounds, work)
        report("200 MB, whole processes", medians, "oras pull + unzip", "getmodules", "at most 1.0")


def many(work: Path, rounds: int) -> None:
    tls = certificate(work)
    with ExitStack() as stack:
        host = stack.enter_context(registry(work, tls))
        slow = stack.enter_context(delayed(host))
        network = NetSettings(ca_file=str(tls[0]))
        with getmodules.Client(environ={}, network=network) as publisher, ThreadPoolExecutor(8) as pool:
            for number in range(MODULES):
                fill(work / f"m{number}", {**SMALL, "name.tf": f"# {number}\n"})
            list(pool.map(lambda n: publisher.push(work / f"m{n}", f"oci://{host}/acme/m{n}?tag=1"), range(MODULES)))

        def ours(threads: int) -> Rival:
            def run(place: Path) -> None:
                with getmodules.Client(environ={}, network=network) as client, ThreadPoolExecutor(threads) as pool:
                    list(
                        pool.map(lambda n: client.get(f"oci://{slow}/acme/m{n}?tag=1", place / str(n)), range(MODULES))
                    )

            return run

        rivals: dict[str, Rival] = {"getmodules, one after the other": ours(1), "getmodules, 16 threads": ours(16)}
        tofu = tool("tofu")
        if tofu is not None:
            calls = "".join(
                f'module "m{n}" {{\n  source = "oci://{slow}/acme/m{n}?tag=1"\n}}\n' for n in range(MODULES)
            )

            def peer(place: Path) -> None:
                (place / "main.tf").write_text(calls)
                environ = {"PATH": os.environ["PATH"], "HOME": str(place), "SSL_CERT_FILE": str(tls[0])}
                subprocess.run([tofu, "get"], cwd=place, env=environ, check=True, stdout=subprocess.DEVNULL)

            rivals["tofu get"] = peer
        medians = measure(rivals, rounds, work)
        ours_name = "getmodules, 16 threads"
        title = f"{MODULES} modules over TLS, {2000 * DELAY_SECONDS:.0f} ms round trip"
        report(title, medians, "getmodules, one after the other", ours_name, "at least 5 times as fast")
        if tofu is not None:
            report(title, medians, "tofu get", ours_name, "at least 8 times as fast")
        else:
            print("  tofu is not here")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=["small", "large", "many"])
    parser.add_argument("--work", type=Path, default=MEMORY)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.work, prefix="getmodules-bench-") as directory:
        for job in (small, large, many):
            if options.only in (None, job.__name__):
                job(Path(directory), options.rounds)


if __name__ == "__main__":
    main()
