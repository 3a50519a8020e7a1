"""What the verifiers of ``Gate.ADDRESS`` are asked about, by each kind of server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client, Context, Gate, PackageAddress, VerificationError, hookimpl
from getmodules.api.ports import Progress
from getmodules.client import contexts_for
from getmodules.getters.oci.login import check, log_in
from getmodules.testing import Access, Registry, User
from getmodules.util.redact import Secret
from tests.support.commandline import call
from tests.support.gitplaces import Place, a_place
from tests.support.gitrepos import Gitlink, modules
from tests.support.gitservers import git_http
from tests.support.projects import Project
from tests.support.refusals import refusal
from tests.support.servers import free_port

PASSWORD = "s3cr3t-p4ss"


@dataclass
class Watchman:
    """A plugin with a verifier that notes what it is asked, and refuses what has ``word`` in its URL."""

    word: str | None = None
    name: str = "watchman"
    gates: tuple[Gate, ...] = (Gate.ADDRESS,)
    seen: list[PackageAddress] = field(default_factory=list)

    def verify(self, gate: Gate, subject: Any, context: Context) -> None:
        assert gate is Gate.ADDRESS
        self.seen.append(subject)
        if self.word is not None and self.word in subject.url:
            raise VerificationError("no")

    @hookimpl
    def getmodules_verifiers(self) -> Iterable[Any]:
        return (self,)

    def asked(self) -> list[str]:
        """What it was asked since it was asked this, each once."""
        asked = list(dict.fromkeys(f"{each.getter} {each}" for each in self.seen))
        self.seen.clear()
        return asked


@pytest.fixture
def watchman() -> Watchman:
    return Watchman()


def client(watchman: Watchman, environ: dict[str, str]) -> Client:
    return Client(plugins=(watchman,), environ={"GETMODULES_PLUGINS": "", **environ}, use_cache=False)


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry(access=Access(scheme="bearer", users={"ada": User(PASSWORD)})) as running:
        running.push_module("acme/vpc", "1.0.0", {"main.tf": ""})
        yield running


def test_a_registry(watchman: Watchman, registry: Registry, tmp_path: Path) -> None:
    host = registry.host.replace(".", "_").replace(":", "_")
    environ = {f"GETMODULES_TOKEN_{host}": PASSWORD, f"GETMODULES_USERNAME_{host}": "ada", "HOME": str(tmp_path)}
    address, token = f"oci oci://{registry.host}/acme/vpc", f"http {registry.url}/token"
    ours = client(watchman, environ)
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / "main.tf").write_text("# new\n")

    ours.get(f"oci://{registry.host}/acme/vpc?tag=1.0.0", tmp_path / "d")
    assert watchman.asked() == [f"{address}?tag=1.0.0", token]
    ours.tags(f"oci://{registry.host}/acme/vpc")
    assert watchman.asked()[:1] == [address]
    ours.inspect(f"oci://{registry.host}/acme/vpc?tag=1.0.0")
    assert watchman.asked()[:1] == [f"{address}?tag=1.0.0"]
    ours.push(tmp_path / "module", f"oci://{registry.host}/acme/vpc?tag=2.0.0")
    assert set(watchman.asked()) == {f"{address}?tag=2.0.0", token}

    contexts = contexts_for(ours, Progress())
    assert check(registry.host, "acme/vpc", contexts).works
    assert watchman.asked() == [address, token]
    assert check(registry.host, "", contexts).works
    assert watchman.asked() == [f"oci oci://{registry.host}/", token]
    log_in(registry.host, "ada", Secret(PASSWORD), environ, contexts)
    assert watchman.asked() == [f"oci oci://{registry.host}/", token]


def test_submodules(watchman: Watchman, tmp_path: Path) -> None:
    with a_place(tmp_path / "place") as place, git_http(place.root) as server:
        commit = place.repository("lib").commit_files({"lib.tf": b""})
        text = modules(lib={"path": "lib", "url": f"http://u:p@127.0.0.1:{server.port}/lib.git"})
        place.repository().commit_files({".gitmodules": text, "lib": Gitlink(commit)})
        client(watchman, place.environ).get(f"git::{server.url}/a.git", place.dest)
        assert watchman.asked() == [f"git git::{server.url}/a.git", f"http {server.url}/lib.git"]
        _refused_submodule(place, f"git::{server.url}/a.git")


def _refused_submodule(place: Place, source: str) -> None:
    refusing = client(Watchman(word="/lib.git"), place.environ)
    refusal(VerificationError, "verification", refusing.get, source, place.work / "other")
    assert not (place.work / "other").exists()


def test_modules_that_share_a_package_are_refused_together(watchman: Watchman, tmp_path: Path) -> None:
    project = Project(tmp_path, plugins=(watchman,))
    project.wants(one="https://h.invalid/p.zip//net", two="https://h.invalid/p.zip", three="./src")
    watchman.word = "h.invalid"
    report = project.client.install(project.directory)
    assert {failure.module: failure.error.exit_code for failure in report.failures} == {"one": 3, "two": 3}
    assert [module.name for module in report.modules] == ["three"]


def test_a_login_needs_the_plugins_that_were_named(tmp_path: Path) -> None:
    """One of them may be what would have refused the host."""
    environ = {"GETMODULES_PLUGINS": "my-policy", "HOME": str(tmp_path)}
    host = f"127.0.0.1:{free_port()}"
    for command in (f"login {host} -u ada --password-stdin", f"auth check {host}/p"):
        result = call(*command.split(), stdin=PASSWORD, environ=environ)
        assert result.code == 2
        assert "my-policy" in result.err
    assert call("logout", host, environ=environ).code == 0
