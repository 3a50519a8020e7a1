"""Rivals for a batch: ``getmodules install``, ``terraform get``, ``tofu get``, or the strategy of the two, replayed.

That is: one package after the other; a repository as a full clone, an archive with a question before it; and
every module a whole package, however many are of the same one.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self
from unittest.mock import patch
from urllib.parse import urlsplit

from benchmarks.batch_site import TAG, Site, subdirectory
from benchmarks.files import trees
from benchmarks.harness import Rival, fresh
from benchmarks.processes import GETMODULES, run
from benchmarks.terraform import terraform_get
from getmodules import Client
from getmodules.files.private import PrivateDirectories
from getmodules.pipeline import services

#: Gives the files of some modules, as a bare loop reads them: MODULE/PATH, and the content.
Bare = Callable[[], Iterable[tuple[str, bytes]]]


@dataclass
class Batch:
    """The modules to be installed; each has the same source for all rivals."""

    site: Site
    sources: dict[str, str] = field(default_factory=dict)
    bare: list[Bare] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        """Return the variables for TLS, if there is any: reading authorities takes time."""
        has_tls = any(source.startswith("oci:") for source in self.sources.values())
        return {"SSL_CERT_FILE": str(self.site.authority.ca)} if has_tls else {}

    def add_subdirectories(self, address: str, numbers: Iterable[int]) -> Self:
        repository = self.site.large_repository()
        subdirs = {f"d{number}": subdirectory(number) for number in numbers}
        for name, subdir in subdirs.items():
            self.sources[name] = f"git::http://{address}/large.git//{subdir}?ref={TAG}"
        self.bare.append(lambda: _git_files(repository, subdirs))
        return self

    def add_repositories(self, address: str, numbers: Iterable[int]) -> Self:
        for number in numbers:
            repository, name = self.site.small_repository(number), f"g{number}"
            self.sources[name] = f"git::http://{address}/{repository.name}?ref={TAG}"
            self.bare.append(partial(_git_files, repository, {name: ""}))
        return self

    def add_archives(self, address: str, numbers: Iterable[int], *, little: bool = False) -> Self:
        for number in numbers:
            path = self.site.little_archive(number) if little else self.site.archive(number)
            self.sources[f"h{number}"] = f"http://{address}/{path.name}"
            self.bare.append(partial(_zip_files, path, f"h{number}"))
        return self

    def add_packages(self, address: str, numbers: Iterable[int]) -> Self:
        for number in numbers:
            path, name = self.site.package(number), f"o{number}"
            self.sources[name] = f"oci://{address}/acme/m{number}?tag={TAG}"
            self.bare.append(partial(_zip_files, path, name))
        return self


# ------------------------------------------------------------------------------------------ ours


def whole_command(batch: Batch) -> Rival:
    """The whole command, with a manifest and a lock, and an empty cache."""
    manifest = "".join(f'[modules.{name}]\nsource = "{source}"\n' for name, source in batch.sources.items())
    with fresh(batch.site.work) as place:
        (place / "getmodules.toml").write_text(manifest)
        run(GETMODULES, "lock", "-q", place=place, environ=batch.environ)
        lock = (place / "getmodules.lock").read_text()

    def prepare(place: Path) -> None:
        (place / "getmodules.toml").write_text(manifest)
        (place / "getmodules.lock").write_text(lock)

    def install(place: Path) -> None:
        environ = {**batch.environ, "GETMODULES_CACHE_DIR": str(place / "cache")}
        run(GETMODULES, "install", "-q", place=place, environ=environ)

    return Rival("getmodules install", install, partial(_beside_manifest, batch), prepare)


def _beside_manifest(batch: Batch, place: Path) -> dict[str, dict[str, bytes]]:
    return trees({name: place / "modules" / name for name in batch.sources})


def in_process(whole: Rival, ours: Client) -> Rival:
    """The same with a client that has all of it in its cache."""
    return Rival("getmodules, in process, warm", lambda place: ours.install(place).check(), whole.made, whole.prepare)


class _OneForEachModule(PrivateDirectories):
    """A private directory for each module, and for each package in the cache, as if each were an operation."""

    def beside(self, parent: Path, prepare: Callable[[], object] | None = None) -> Path:
        with self._guard:
            made = super().beside(parent, prepare)
            self._directories[made] = self._directories.pop(parent)  # the next one finds none
            return made


def with_more_directories(ours: Rival) -> Rival:
    """The same with a private directory for each module."""

    def install(place: Path) -> None:
        with patch.object(services, "PrivateDirectories", _OneForEachModule):
            ours.work(place)

    return Rival("with a private directory for each module", install, ours.made, ours.prepare)


# ------------------------------------------------------------------------------------------ peers


def peer(batch: Batch, names: Iterable[str]) -> Rival:
    """Return the first of these programs that is found, else their strategy with git and curl."""
    for name in names:
        found = terraform_get(name, batch.sources, batch.environ)
        if found is not None:
            return found
    return Rival("terraform's strategy, replayed", _Replay(batch).run, partial(_as_replayed, batch))


def _as_replayed(batch: Batch, place: Path) -> dict[str, dict[str, bytes]]:
    subdirs = {name: source.partition("?")[0].split("//")[2:] for name, source in batch.sources.items()}
    return trees({name: place.joinpath(name, *subdir) for name, subdir in subdirs.items()})


@dataclass
class _Replay:
    batch: Batch

    def run(self, place: Path) -> None:
        packages: dict[str, Path] = {}
        for name, source in self.batch.sources.items():
            scheme, _, rest = source.partition("://")
            package = f"{scheme}://{rest.partition('?')[0].partition('//')[0]}"
            if package in packages:
                shutil.copytree(packages[package], place / name, ignore=shutil.ignore_patterns(".*"))
                continue
            packages[package] = place / name
            {"git::http": self._git, "http": self._http, "oci": self._oci}[scheme](package, place / name)

    def _git(self, package: str, dest: Path) -> None:
        run("git", "clone", "-q", package.removeprefix("git::"), dest, place=dest.parent)
        run("git", "-C", dest, "checkout", "-q", TAG, place=dest.parent)

    def _http(self, url: str, dest: Path) -> None:
        self._curl(dest, "-I", url)
        self._curl(dest, "-o", f"{dest}.zip", url)
        run("unzip", "-q", f"{dest}.zip", "-d", dest, place=dest.parent)

    def _oci(self, package: str, dest: Path) -> None:
        split = urlsplit(package)
        base = f"https://{split.netloc}/v2{split.path}"
        accept = "Accept: application/vnd.oci.image.manifest.v1+json"
        self._curl(dest, "-H", accept, "-o", f"{dest}.json", f"{base}/manifests/{TAG}")
        digest = json.loads(Path(f"{dest}.json").read_text())["layers"][0]["digest"]
        self._curl(dest, "-o", f"{dest}.zip", f"{base}/blobs/{digest}")
        run("unzip", "-q", f"{dest}.zip", "-d", dest, place=dest.parent)

    def _curl(self, dest: Path, *arguments: str) -> None:
        authority = self.batch.environ.get("SSL_CERT_FILE")
        run("curl", "-sSf", *(["--cacert", authority] if authority else []), *arguments, place=dest.parent)


# ------------------------------------------------------------------------------------------ the bare loop


def bare_loop(batch: Batch) -> Rival:
    """Return a loop that only reads, hashes and unpacks, as any Python has to."""

    def install(place: Path) -> None:
        made = set()
        for files in batch.bare:
            for path, data in files():
                hashlib.sha256(data).digest()
                file = f"{place}/modules/{path}"
                directory = os.path.dirname(file)
                if directory not in made:
                    os.makedirs(directory, exist_ok=True)
                    made.add(directory)
                with open(file, "wb") as writer:
                    writer.write(data)

    return Rival("bare Python loop", install, partial(_beside_manifest, batch))


def _zip_files(path: Path, module: str) -> Iterator[tuple[str, bytes]]:
    data = path.read_bytes()
    hashlib.sha256(data).digest()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            yield f"{module}/{member.filename}", archive.read(member)


def _git_files(repository: Path, subdirs: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of one repository, read by two git processes."""
    command = ["git", "-C", str(repository)]
    paths = [subdir for subdir in subdirs.values() if subdir]
    listed = subprocess.run([*command, "ls-tree", "-r", "-z", TAG, *paths], check=True, stdout=subprocess.PIPE).stdout
    entries = [line.split("\t", 1) for line in listed.decode().split("\0") if line]
    ids = "".join(f"{about.split(' ')[2]}\n" for about, _ in entries)
    data = subprocess.run(
        [*command, "cat-file", "--batch", "--buffer"], check=True, input=ids.encode(), stdout=subprocess.PIPE
    ).stdout
    modules = {subdir: name for name, subdir in subdirs.items()}
    depth = 2 if paths else 0
    end = 0
    for _, path in entries:
        line = data.index(b"\n", end)
        start, size = line + 1, int(data[end:line].rpartition(b" ")[2])
        end = start + size + 1
        parts = path.split("/")
        yield "/".join((modules["/".join(parts[:depth])], *parts[depth:])), data[start : start + size]
