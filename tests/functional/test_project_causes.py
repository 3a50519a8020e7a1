"""One cause is one error with all its modules, and two causes are two: the installed command, as people see it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from getmodules.testing import Access, Registry, User, tls_context
from tests.support.certificates import Authority
from tests.support.commandline import Result, run
from tests.support.processes import in_mount_namespace, mount_tmpfs
from tests.support.projects import Project
from tests.support.servers import free_port

pytestmark = pytest.mark.slow

TOKEN = "s3cr3t-t0ken"
NAMES = [f"module-{number:02}" for number in range(14)]


class Place(Project):
    """A project with a home and a cache of its own; no failure leaves anything in it."""

    @property
    def cache(self) -> Path:
        return self.directory.parent / "cache"

    def run(self, *argv: str, **env: str) -> Result:
        home = self.directory.parent / "home"
        result = run(*argv, cwd=self.directory, HOME=str(home), GETMODULES_CACHE_DIR=str(self.cache), **env)
        assert TOKEN not in result.out + result.err
        return result

    def fails(self, code: str, number: int, *argv: str, **env: str) -> list[str]:
        """Run a command as text and as JSON; return the errors of the text, of which each module is in one."""
        told = self.run(*argv, **env)
        assert told.code == number, told
        result = self.run(*argv, "--json", **env)
        assert result.code == number
        errors = result.object["errors"]
        assert [error["module"] for error in errors] == NAMES
        assert {error["code"] for error in errors} == {code}
        assert not self.has_lock
        assert not list(self.directory.glob("modules/*"))
        assert self.leftovers() == set()
        return ["error: " + each for each in told.err.split("error: ")[1:]]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "project")


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as running:
        yield running


def _wants(place: Place, source: Callable[[str], str]) -> None:
    place.wants(**{name: source(name) for name in NAMES})


def _named(error: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"module-\d\d", error)))


@pytest.mark.parametrize("command", [("install",), ("lock",), ("install", "-j", "1")], ids=" ".join)
def test_a_registry_that_is_down(command: tuple[str, ...], place: Place) -> None:
    host = f"127.0.0.1:{free_port()}"
    _wants(place, lambda name: f"oci://{host}/acme/{name}?tag=1")
    (error,) = place.fails("network", 1, *command)
    assert error.startswith("error: 14 modules: ")
    assert _named(error) == NAMES
    assert error.count("code: network") == 1
    assert "address: " not in error
    assert max(map(len, error.splitlines()[1:-2])) <= 80


def test_the_pages_of_versions_of_a_registry_that_is_down(place: Place) -> None:
    host = f"127.0.0.1:{free_port()}"
    tables = (f'[modules.{name}]\nsource = "oci://{host}/acme/{name}"\nversion = "~> 1.0"\n' for name in NAMES)
    place.wants("\n".join(tables))
    (error,) = place.fails("network", 1, "lock")
    assert _named(error) == NAMES


def test_git_from_a_host_that_is_down(place: Place) -> None:
    host = f"127.0.0.1:{free_port()}"
    _wants(place, lambda name: f"git::http://{host}/acme/{name}.git?ref=v1")
    (error,) = place.fails("network", 1, "install")
    assert _named(error) == NAMES


def test_two_hosts_that_are_down_are_two_causes(place: Place) -> None:
    hosts = [f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"]
    _wants(place, lambda name: f"oci://{hosts[int(name[-1]) % 2]}/acme/{name}?tag=1")
    even, odd = sorted(place.fails("network", 1, "install"), key=_named)
    assert (_named(even), _named(odd)) == (NAMES[::2], NAMES[1::2])


@pytest.mark.parametrize("scheme", ["basic", "bearer"])
def test_a_registry_that_wants_a_login(scheme: str, place: Place) -> None:
    with Registry(access=Access(scheme=scheme, users={"ada": User(TOKEN)})) as registry:  # type: ignore[arg-type]
        _wants(place, lambda name: f"oci://{registry.host}/acme/{name}?tag=1")
        (error,) = place.fails("authentication", 4, "install")
        assert _named(error) == NAMES


def test_offline(place: Place) -> None:
    """Registries, git and web servers are all the same: what lacks something is the cache, and it is named."""
    forms = ("oci://h.invalid/acme/{}?tag=1", "git::https://g.invalid/{}.git?ref=v1", "https://w.invalid/{}.zip")
    _wants(place, lambda name: forms[int(name[-1]) % 3].format(name))
    (error,) = place.fails("offline", 6, "install", "--offline")
    assert sorted(_named(error)) == NAMES
    assert str(place.cache) in error


def test_a_certificate(place: Place, tmp_path: Path, authority: Authority) -> None:
    with Registry(tls=tls_context(authority.certificate, authority.key)) as registry:
        _wants(place, lambda name: f"oci://{registry.host}/acme/{name}?tag=1")
        (error,) = place.fails("network/certificate", 1, "install")
        assert _named(error) == NAMES


def test_a_policy(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("[policy]\nallow = []\n")
    _wants(place, lambda name: f"oci://h.invalid/acme/vpc//{name}?tag=1")
    (error,) = place.fails("verification/policy", 3, "install", GETMODULES_POLICY=str(file))
    assert _named(error) == NAMES


def test_what_is_not_there_is_a_cause_for_each(place: Place, registry: Registry) -> None:
    _wants(place, lambda name: f"oci://{registry.host}/acme/{name}?tag=1")
    errors = place.fails("not-found", 1, "install")
    assert list(map(_named, errors)) == [[name] for name in NAMES]


@pytest.mark.parametrize("command", ["install", "lock"])
def test_a_full_disk(command: str, place: Place, registry: Registry) -> None:
    for name in NAMES:
        registry.push_module(f"acme/{name}", "1", {"main.tf": name * 20_000})
    _wants(place, lambda name: f"oci://{registry.host}/acme/{name}?tag=1")

    def work() -> None:
        mount_tmpfs(place.directory, "size=60k")
        shutil.copy(manifest, place.directory)
        told = place.run(command, TMPDIR=str(place.directory))
        assert told.code == 1
        assert told.err.count("error: ") == 1, told.err
        assert set(_named(told.err)) == set(NAMES)
        assert str(place.directory) in told.err.splitlines()[0]
        assert "code: install/no-space" in told.err
        assert not place.has_lock
        assert place.leftovers() == set()

    manifest = shutil.copy(place.manifest, place.directory.parent / "getmodules.toml")
    in_mount_namespace(work)
