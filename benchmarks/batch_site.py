"""The servers of the batch benchmark, their contents, and the traffic to them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from benchmarks.git_get import DIRECTORIES, git, large_repository
from benchmarks.processes import delayed
from getmodules.testing import Registry, module_package, tls_context, zip_of
from tests.support.certificates import Authority, make_authority
from tests.support.gitservers import GitServer, git_http
from tests.support.nginx import Nginx, nginx

MEGABITS = 100.0
TAG = "v1.0.0"
_MODULE_BYTES, _MODULE_FILES = 37_000, 21


def module_files(number: int) -> dict[str, bytes]:
    """A module of about 37 KB, nearly all of it noise, so that its archive is about as large."""
    noise = random.Random(number)
    names = [f"modules/m{each // 4}/noise{each % 4}.bin" for each in range(_MODULE_FILES - 1)]
    return {"main.tf": b"# %d\n" % number, **{name: noise.randbytes(_MODULE_BYTES // len(names)) for name in names}}


@dataclass
class Site:
    """The servers. Each starts when it is first used; all end with the site."""

    work: Path
    ends: ExitStack
    _logged: int = 0
    _sizes: dict[str, int] = field(default_factory=dict)

    # ---------------------------------------------------------------------------------------- the servers

    @cached_property
    def authority(self) -> Authority:
        return make_authority(self._directory("authority"))

    @cached_property
    def git(self) -> GitServer:
        return self.ends.enter_context(git_http(self._directory("git")))

    @cached_property
    def web(self) -> Nginx:
        return self.ends.enter_context(nginx(self._directory("web")))

    @cached_property
    def registry(self) -> Registry:
        tls = tls_context(self.authority.certificate, self.authority.key)
        return self.ends.enter_context(Registry(tls=tls))

    @cached_property
    def far_git(self) -> str:
        return self._far(f"127.0.0.1:{self.git.port}")

    @cached_property
    def narrow_git(self) -> str:
        return self._far(f"127.0.0.1:{self.git.port}", MEGABITS)

    @cached_property
    def far_web(self) -> str:
        return self._far(f"127.0.0.1:{self.web.port}")

    @cached_property
    def far_registry(self) -> str:
        return self._far(self.registry.host)

    def _far(self, target: str, megabits: float | None = None) -> str:
        return self.ends.enter_context(delayed(target, megabits=megabits))

    def _directory(self, name: str) -> Path:
        directory = self.work / name
        directory.mkdir(exist_ok=True)
        return directory

    # ---------------------------------------------------------------------------------------- what lies there

    def large_repository(self) -> Path:
        """100 MB of history, of which 8 MB in fifty directories at the tip."""
        return self.git.root / large_repository(self.git.root)

    def small_repository(self, number: int) -> Path:
        path = self.git.root / f"small{number}.git"
        if not path.exists():
            git(self.git.root, "init", "-q", "--bare", "-b", "main", path.name)
            git(self.git.root, "-C", path.name, "fast-import", "--quiet", given=_commit(module_files(number)))
        return path

    def archive(self, number: int) -> Path:
        path = self.web.root / f"m{number}.zip"
        if not path.exists():
            path.write_bytes(zip_of(module_files(number)))
        return path

    def little_archive(self, number: int) -> Path:
        """Make an archive of two small files, for thousands of packages."""
        path = self.web.root / f"little{number}.zip"
        if not path.exists():
            files = {"main.tf": f"# {number}\n", "variables.tf": f'variable "v{number}" {{}}\n'}
            path.write_bytes(zip_of(files))
        return path

    def package(self, number: int) -> Path:
        """Publish a package in the registry; return its archive as a file."""
        path = self._directory("oci") / f"m{number}.zip"
        if not path.exists():
            repository, package = f"acme/m{number}", module_package(module_files(number))
            self.registry.push(repository, package, TAG)
            for blob in package.blobs:
                self._sizes[str(self.registry.put_blob(repository, blob))] = len(blob)
            self._sizes[TAG] = self._sizes[str(package.digest)] = len(package.manifest)
            path.write_bytes(package.blobs[-1])
        return path

    # ---------------------------------------------------------------------------------------- what was asked

    def forget(self) -> None:
        self.git.forget()
        self.registry.forget_requests()
        self._logged = len(self.web.asked())

    def traffic(self) -> tuple[int, int]:
        """Requests, and bytes in the bodies of the answers, since :meth:`forget`."""
        web, oci = self.web.asked()[self._logged :], self.registry.requests
        sent = self.git.bytes_sent + sum(int(each.sent) for each in web)
        sent += sum(self._sizes.get(each.path.rpartition("/")[2], 0) for each in oci if each.method == "GET")
        return len(self.git.exchanges) + len(web) + len(oci), sent


def _commit(files: dict[str, bytes]) -> Iterator[bytes]:
    yield b"commit refs/heads/main\ncommitter A <a@b> 1600000000 +0000\ndata 1\nx\n"
    for name, data in files.items():
        yield b"M 100644 inline %s\ndata %d\n%s\n" % (name.encode(), len(data), data)
    yield b"\nreset refs/tags/%s\nfrom refs/heads/main\n" % TAG.encode()


@contextmanager
def site(work: Path) -> Iterator[Site]:
    with ExitStack() as ends:
        yield Site(work, ends)


def subdirectory(number: int) -> str:
    return f"modules/m{number % DIRECTORIES:02}"
