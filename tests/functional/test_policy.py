"""Policies against real servers: what is refused has had no connection, and what is allowed works as ever."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from getmodules import Client, ConfigError
from getmodules.testing import Access, Registry, User
from tests.support.certificates import Authority
from tests.support.commandline import Result, call
from tests.support.gitplaces import Place, a_place
from tests.support.gitrepos import Gitlink, modules
from tests.support.gitservers import git_http
from tests.support.moduleregistry import MODULE, a_registry
from tests.support.refusals import refusal
from tests.support.servers import Connection, Received, Server, free_port, replying, serving

FILES: Mapping[str, str] = {"main.tf": "# main\n"}
PASSWORD = "s3cr3t-p4ss"
ADA = {"ada": User(PASSWORD)}


class Policy:
    """A policy in the file that ``GETMODULES_POLICY`` names, and the command line under it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._file = directory / "policy.toml"
        (directory / "home").mkdir()

    def allows(self, *patterns: str) -> None:
        self._file.write_text(f"[policy]\nallow = {json.dumps(patterns)}\n")

    def denies(self, *patterns: str) -> None:
        self._file.write_text(f"[policy]\ndeny = {json.dumps(patterns)}\n")

    def call(self, *argv: str | Path, stdin: str = "", **environ: str) -> Result:
        mine = {
            "GETMODULES_PLUGINS": "",
            "GETMODULES_POLICY": str(self._file),
            "GETMODULES_CACHE_DIR": str(self.directory / "cache"),
            "HOME": str(self.directory / "home"),
        }
        return call(*argv, stdin=stdin, environ={**mine, **environ})

    def refuses(self, *argv: str | Path, stdin: str = "", **environ: str) -> dict[str, str]:
        """The error, which is of this policy."""
        result = self.call(*argv, "--json", stdin=stdin, **environ)
        assert result.code == 3, result
        assert PASSWORD not in result.out + result.err
        assert not (self.directory / "dest").exists()
        error: dict[str, str] = next(
            found for each in result.objects if isinstance(found := each.get("error", each), dict) and "code" in found
        )
        assert error["code"] == "verification/policy"
        assert str(self._file) in error["message"]
        return error

    def allows_after(self, *argv: str | Path, most: int = 6, **environ: str) -> list[str]:
        """What has to be allowed until the command works, each as the error before it says."""
        allowed: list[str] = []
        self.allows()
        for _ in range(most):
            result = self.call(*argv, "--json", **environ)
            if result.code == 0:
                return allowed
            hint = self.refuses(*argv, **environ)["hint"]
            line = hint.partition("allow = ")[2].partition("]")[0] + "]"
            allowed = json.loads(line)
            self.allows(*allowed)
        raise AssertionError(allowed)


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return Policy(tmp_path)


@pytest.fixture
def counting() -> Iterator[Server]:
    with serving(replying("404 Not Found")) as running:
        yield running


def test_nothing_is_contacted(policy: Policy, counting: Server, tmp_path: Path) -> None:
    policy.allows("oci://registry.acme.example/*")
    host, dest = f"127.0.0.1:{counting.port}", tmp_path / "dest"
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / "main.tf").write_text("")
    for address in (
        f"oci://{host}/p?tag=1",
        f"{counting.url}/p.zip",
        f"git::{counting.url}/p.git",
        f"tfr://{host}/a/b/c",
    ):
        for offline in ((), ("--offline",)):
            policy.refuses("get", address, dest, *offline)
            policy.refuses("resolve", address, *offline)
    policy.refuses("push", tmp_path / "module", f"oci://{host}/p?tag=1")
    policy.refuses("push", tmp_path / "module", f"oci://{host}/p?tag=1", "--dry-run")
    policy.refuses("tags", f"oci://{host}/p")
    policy.refuses("inspect", f"oci://{host}/p?tag=1")
    policy.refuses("login", host, "-u", "ada", "--password-stdin", stdin=PASSWORD)
    policy.refuses("auth", "check", f"{host}/p")
    policy.refuses("auth", "check", host)
    assert counting.connections == 0
    assert not list((tmp_path / "home").rglob("*.json"))
    for free in (("detect", f"oci://{host}/p"), ("hash", tmp_path / "module"), ("logout", host), ("cache", "info")):
        assert policy.call(*free).code == 0, free


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry(access=Access(scheme="bearer", users=ADA)) as running:
        running.push_module("acme/vpc", "1.0.0", FILES)
        yield running


def _token(registry: Registry) -> dict[str, str]:
    host = registry.host.replace(".", "_").replace(":", "_")
    return {f"GETMODULES_TOKEN_{host}": PASSWORD, f"GETMODULES_USERNAME_{host}": "ada"}


def test_a_registry_needs_its_token_service_allowed(policy: Policy, registry: Registry, tmp_path: Path) -> None:
    """Also at the same host; manifests, blobs, tags and uploads of the repository are its address's own."""
    address, token = f"oci://{registry.host}/acme/vpc", _token(registry)
    needed = [address, f"{registry.url}/token"]
    assert policy.allows_after("get", f"{address}?tag=1.0.0", tmp_path / "dest", **token) == needed
    policy.allows(*needed)
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / "main.tf").write_text("# new\n")
    for command in ("tags {0}", "inspect {0}?tag=1.0.0", "auth check {1}/acme/vpc"):
        assert policy.call(*command.format(address, registry.host).split(), **token).code == 0, command
    assert policy.call("push", tmp_path / "module", f"{address}?tag=2.0.0", **token).code == 0


def test_auth_check_and_login_ask_about_the_token_service(policy: Policy, registry: Registry, tmp_path: Path) -> None:
    policy.allows(f"oci://{registry.host}/*")
    policy.refuses("auth", "check", f"{registry.host}/acme/vpc", **_token(registry))
    policy.refuses("login", registry.host, "-u", "ada", "--password-stdin", stdin=PASSWORD)
    assert not [request for request in registry.requests if request.path == "/token"]
    assert not list((tmp_path / "home").rglob("config.json"))
    policy.allows(f"oci://{registry.host}/", f"{registry.url}/token")
    assert policy.call("login", registry.host, "-u", "ada", "--password-stdin", stdin=PASSWORD).code == 0


@pytest.mark.parametrize("fault", ["redirect-elsewhere", "realm-elsewhere"])
def test_another_host_that_a_registry_names(fault: str, policy: Policy, counting: Server, tmp_path: Path) -> None:
    with Registry() as registry:
        registry.push_module("acme/vpc", "1.0.0", FILES)
        registry.fault(fault, to=counting.url)
        policy.allows(f"oci://{registry.host}/*")
        error = policy.refuses("get", f"oci://{registry.host}/acme/vpc?tag=1.0.0", tmp_path / "dest")
        assert f"{counting.url}/" in error["message"]
        assert "?" not in error["message"]
        assert counting.connections == 0


def test_an_upload_that_goes_on_elsewhere(policy: Policy, counting: Server, tmp_path: Path) -> None:
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / "main.tf").write_text("")
    with Registry() as registry:
        registry.fault("upload-elsewhere", to=counting.url)
        policy.allows(f"oci://{registry.host}/*")
        error = policy.refuses("push", tmp_path / "module", f"oci://{registry.host}/acme/vpc?tag=1.0.0")
        assert f"{counting.url}/" in error["message"]
        assert not [request for request in registry.requests if request.method == "PUT"]
    assert counting.connections == 0


def test_a_page_that_goes_on_elsewhere_at_the_same_host(policy: Policy) -> None:
    def answer(connection: Connection, received: Received) -> bool:
        link = '</v2/acme/other/tags/list?last=a>; rel="next"'
        return connection.reply("200 OK", b'{"tags": ["a"]}', Content_Type="application/json", Link=link)

    with serving(answer) as server:
        address = f"oci://127.0.0.1:{server.port}/acme/vpc"
        policy.allows(address)
        error = policy.refuses("tags", address)
        assert f"{server.url}/v2/acme/other/tags/list is not allowed" in error["message"]
        assert [received.target.partition("?")[0] for received in server.received] == ["/v2/acme/vpc/tags/list"]


def test_a_redirect_within_the_registry_is_asked_about(policy: Policy, tmp_path: Path) -> None:
    with Registry() as registry:
        registry.push_module("acme/vpc", "1.0.0", FILES)
        registry.fault("redirect")
        policy.allows(f"oci://{registry.host}/*")
        error = policy.refuses("get", f"oci://{registry.host}/acme/vpc?tag=1.0.0", tmp_path / "dest")
        assert f"{registry.url}/v2/acme/vpc/blobs/" in error["message"]


def test_a_module_registry_names_two_more(policy: Policy, authority: Authority, tmp_path: Path) -> None:
    with a_registry(authority) as registry:
        registry.publish("1.0.0")
        source = f"tfr://{registry.host}/{MODULE}"
        needed = policy.allows_after("get", source, tmp_path / "dest", SSL_CERT_FILE=str(authority.ca))
    service = f"https://{registry.host}/v1/modules/{MODULE}"
    assert needed == [
        source,
        f"{service}/versions",
        f"{service}/1.0.0/download",
        f"https://{registry.host}/packages/vpc.zip",
    ]


def test_a_web_server_that_names_a_repository(policy: Policy, counting: Server, tmp_path: Path) -> None:
    with serving(replying("204 No Content", X_Terraform_Get=f"git::{counting.url}/a.git")) as server:
        policy.allows(f"{server.url}/*")
        error = policy.refuses("get", f"{server.url}/p", tmp_path / "dest")
    assert f"{counting.url}/a.git" in error["message"]
    assert counting.connections == 0


# ---------------------------------------------------------------------------------------------------------- git


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with a_place(tmp_path / "place") as made:
        yield made


def _git(policy: Policy, address: str) -> tuple[str | Path, ...]:
    return "get", address, policy.directory / "dest"


def test_submodules_and_redirects_of_git(policy: Policy, place: Place) -> None:
    commit = place.repository("lib").commit_files({"lib.tf": b""})
    with git_http(place.root) as server, git_http(place.root) as other:
        text = modules(lib={"path": "lib", "url": f"{other.url}/lib.git"}, near={"path": "near", "url": "../lib.git"})
        place.repository().commit_files({".gitmodules": text, "lib": Gitlink(commit), "near": Gitlink(commit)})
        source = f"git::{server.url}/a.git"
        policy.allows(f"{server.url}/*")
        error = policy.refuses(*_git(policy, source), **place.environ)
        assert f"{other.url}/lib.git" in error["message"]
        assert other.server.connections == 0
        policy.allows(f"{server.url}/a.git", f"{other.url}/*")
        error = policy.refuses(*_git(policy, source), **place.environ)
        assert f"{server.url}/lib.git" in error["message"]
        needed = policy.allows_after(*_git(policy, source), **place.environ)
        assert needed == [f"{server.url}/a.git", f"{other.url}/lib.git", f"{server.url}/lib.git"]


def test_a_redirect_of_git_over_tls_is_not_followed_unasked(policy: Policy, place: Place, authority: Authority) -> None:
    """Git would follow it by itself."""
    place.repository().commit_files({"main.tf": b""})
    environ = {**place.environ, "SSL_CERT_FILE": str(authority.ca)}
    with (
        git_http(place.root, tls=authority) as target,
        git_http(place.root, tls=authority, redirect=target.url) as server,
    ):
        policy.allows(f"{server.url}/*")
        error = policy.refuses(*_git(policy, f"git::{server.url}/a.git"), **environ)
        assert f"{target.url}/a.git/info/refs" in error["message"]
        assert target.server.connections == 0
        policy.allows(f"{server.url}/*", f"{target.url}/*")
        assert policy.call(*_git(policy, f"git::{server.url}/a.git"), **environ).code == 0


def test_what_a_rule_of_git_makes_of_an_address(policy: Policy, place: Place) -> None:
    place.repository().commit_files({"main.tf": b""})
    with git_http(place.root) as server:
        (place.home / ".gitconfig").write_text(f'[url "{server.url}/"]\n\tinsteadOf = https://far.example/\n')
        policy.allows("https://far.example/*")
        error = policy.refuses(*_git(policy, "git::https://far.example/a.git"), **place.environ)
        assert f"{server.url}/a.git" in error["message"]
        assert server.server.connections == 0
        policy.allows("https://far.example/*", f"{server.url}/*")
        assert policy.call(*_git(policy, "git::https://far.example/a.git"), **place.environ).code == 0


def test_a_proxy_is_not_asked_about(policy: Policy, tmp_path: Path) -> None:
    policy.allows("http://far.example/*")
    proxy = f"http://127.0.0.1:{free_port()}"
    result = policy.call("get", "http://far.example/p.zip", tmp_path / "dest", "--json", http_proxy=proxy)
    assert result.object["error"]["code"] == "network"


# ------------------------------------------------------------------------------------ attacks that are withstood


@pytest.mark.parametrize("kind", ["directory", "fifo", "device", "nul", "loop", "utf-16", "escapes", "nested"])
def test_a_policy_that_cannot_be_read_contacts_nobody(kind: str, counting: Server, tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    named = {"device": "/dev/zero", "nul": "a\0b"}.get(kind, str(file))
    makers: Mapping[str, Callable[[], object]] = {
        "directory": file.mkdir,
        "fifo": lambda: os.mkfifo(file),
        "loop": lambda: file.symlink_to(file),
        "utf-16": lambda: file.write_text("[policy]", encoding="utf-16"),
        "escapes": lambda: file.write_bytes(b"\x1b[2J\xff"),
        "nested": lambda: file.write_text(f"[policy]\nallow = {'[' * 5_000}{']' * 5_000}"),
    }
    makers.get(kind, str)()
    client = Client(environ={"GETMODULES_POLICY": named, "GETMODULES_PLUGINS": "", "HOME": str(tmp_path)})
    error = refusal(ConfigError, "config", client.get, f"{counting.url}/p.zip", tmp_path / "dest")
    assert "\x1b" not in error.message
    assert (error.exit_code, counting.connections, (tmp_path / "dest").exists()) == (2, 0, False)


def test_the_mirror_of_what_a_server_named(policy: Policy, tmp_path: Path) -> None:
    with serving(replying("204 No Content", X_Terraform_Get="https://a.example/p.zip")) as server:
        policy.allows(f"{server.url}/*", "https://a.example/*")
        mirrors = "https://a.example=https://evil.example"
        error = policy.refuses("get", f"{server.url}/p", tmp_path / "dest", GETMODULES_MIRRORS=mirrors)
    assert "https://evil.example/p.zip is not allowed" in error["message"]


def test_what_to_write_is_no_wildcard_of_the_servers(policy: Policy, tmp_path: Path) -> None:
    with serving(replying("302 Found", Location="http://127.0.0.1:9/*")) as server:
        policy.allows(f"{server.url}/*")
        error = policy.refuses("get", f"{server.url}/p.zip", tmp_path / "dest")
    assert '"http://127.0.0.1:9/%2A"]' in error["hint"]


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("https://127.1/x", id="short address"),
        pytest.param("https://0x7f.1/x", id="hexadecimal address"),
        pytest.param("https://127.0.0.1./x", id="address with a dot"),
        pytest.param("https://[fe80::1%25eth0]/x", id="zone"),
        pytest.param("https://h\u3002example/x", id="another full stop"),
        pytest.param("https://\u24d7.example/x", id="circled letter"),
        pytest.param("https://%68.example/x", id="host percent-encoded"),
        pytest.param("https://h.example:0443/x", id="port with a zero"),
        pytest.param("https://h.example../x", id="two dots"),
        pytest.param("https://h.example/a/%252e%252e/b", id="dots, encoded twice"),
        pytest.param("https://h.example/a/..%2f..%2fb", id="dots, with encoded slashes"),
    ],
)
def test_spellings_that_are_no_addresses(url: str, policy: Policy, tmp_path: Path) -> None:
    """None of them gets as far as a list of what is denied."""
    policy.denies("https://nobody.example/*")
    result = policy.call("get", url, tmp_path / "dest", "--json", https_proxy="http://127.0.0.1:9")
    assert (result.code, result.object["error"]["code"]) == (2, "address")
    with serving(replying("302 Found", Location=url.encode().decode("latin-1"))) as server:
        result = policy.call(
            "get", f"{server.url}/p.zip", tmp_path / "dest", "--json", https_proxy="http://127.0.0.1:9"
        )
    assert (result.code, result.object["error"]["code"]) == (3, "unsafe-content/elsewhere")
