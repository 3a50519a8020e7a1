"""Logging in, out, and checking, against registries on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from getmodules.addresses.grammar import AddressError
from getmodules.api.limits import Limits
from getmodules.api.ports import Progress
from getmodules.errors import (
    AuthenticationError,
    ConfigError,
    InstallError,
    NetworkError,
    NotFoundError,
    UnsupportedContentError,
)
from getmodules.getters.oci import login as subject
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.pipeline.operation import Operation
from getmodules.plugins.catalog import build
from getmodules.testing import Access, Registry, User
from getmodules.util.redact import Secret
from tests.support.credhelpers import Helpers, auth_entry
from tests.support.refusals import refusal, words_of
from tests.support.servers import Answer, Connection, Received, replying, serving

PASSWORD = "s3cr3t-p4ss"
RIGHT = Secret(PASSWORD)
#: Plain http by choice: the servers here do not have to find out first that they were asked with TLS.
NETWORK = NetSettings(retries=0, connect_seconds=2, timeout=5, plain_http=frozenset({"127.0.0.1"}))
READ_ONLY = {"acme/*": frozenset({"pull"})}
USERS = {"ada": User(PASSWORD), "bob": User(PASSWORD, READ_ONLY)}


@contextmanager
def registry_with(scheme: Any) -> Iterator[Registry]:
    with Registry(access=Access(scheme=scheme, users=USERS, public=("public/*",))) as running:
        running.push_module("acme/vpc", "1.0.0", {"main.tf": ""})
        running.push_module("public/vpc", "1.0.0", {"main.tf": ""})
        yield running


@pytest.fixture(params=["basic", "bearer"])
def registry(request: pytest.FixtureRequest) -> Iterator[Registry]:
    with registry_with(request.param) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    directory = tmp_path / "home"
    directory.mkdir()
    return directory


def at(home: Path, network: NetSettings | None = None, **environ: str) -> subject.OpenContext:
    operation = Operation(
        catalog=build(()),
        limits=Limits(seconds=30),
        progress=Progress(),
        network=ClientNetwork(network or NETWORK),
        environ={"HOME": str(home), **environ},
    )
    return operation.open_context


def log_in(registry: str, username: str, secret: Secret, home: Path, **environ: str) -> subject.LoggedIn:
    return subject.log_in(registry, username, secret, {"HOME": str(home), **environ}, at(home, **environ))


def log_out(registry: str, home: Path, **environ: str) -> subject.LoggedOut:
    return subject.log_out(registry, {"HOME": str(home), **environ}, at(home, **environ))


def variable(registry: Registry) -> str:
    return "GETMODULES_TOKEN_" + registry.host.replace(".", "_").replace(":", "_")


def entry(user: str, password: str = PASSWORD) -> dict[str, str]:
    return auth_entry(user, password)


def put(file: Path, **auths: Mapping[str, str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"auths": auths}))


def files_in(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


# ---------------------------------------------------------------------------------------------- what is meant


@pytest.mark.parametrize(
    ("text", "registry", "repository"),
    [
        pytest.param("ghcr.io", "ghcr.io", "", id="host"),
        pytest.param("GHCR.io", "ghcr.io", "", id="case"),
        pytest.param("ghcr.io/", "ghcr.io", "", id="slash"),
        pytest.param("https://ghcr.io/", "ghcr.io", "", id="https"),
        pytest.param("localhost:5000", "localhost:5000", "", id="port"),
        pytest.param("ghcr.io:443", "ghcr.io", "", id="usual-port"),
        pytest.param("[::1]:5000", "[::1]:5000", "", id="ipv6"),
        pytest.param("docker.io", "docker.io", "", id="docker-hub"),
        pytest.param("ghcr.io/acme/vpc", "ghcr.io", "acme/vpc", id="repository"),
        pytest.param("oci://ghcr.io:5000/acme/vpc", "ghcr.io:5000", "acme/vpc", id="address"),
    ],
)
def test_a_place(text: str, registry: str, repository: str) -> None:
    assert subject.parse_place(text) == (registry, repository)
    if repository:
        assert refusal(ConfigError, "config", subject.parse_registry, text).hint == f"write {registry}"
    else:
        assert subject.parse_registry(text) == registry


@pytest.mark.parametrize(
    "text",
    ["", "/", "//", "/acme", "http://ghcr.io", "ghcr io", "ghcr.io:x", "ada:secret@ghcr.io", "ghcr.io\n", "a\\b"],
)
def test_what_is_no_registry(text: str) -> None:
    for parse in (subject.parse_registry, subject.parse_place):
        error = refusal(ConfigError, "config", parse, text)
        assert error.message.isprintable()
        assert "secret" not in words_of(error)


def test_what_is_no_repository() -> None:
    refusal(AddressError, "address", subject.parse_place, "ghcr.io/acme/VPC")


# ------------------------------------------------------------------------------------------------------- log in


def test_a_login_is_proved_and_kept(registry: Registry, home: Path) -> None:
    done = log_in(registry.host, "ada", RIGHT, home)
    assert done == subject.LoggedIn(
        registry=registry.host,
        username="ada",
        stored_in="~/.docker/config.json",
        checked=True,
        found_in=f"~/.docker/config.json, auths '{registry.host}'",
        effective=True,
    )
    file = home / ".docker" / "config.json"
    assert json.loads(file.read_text()) == {"auths": {registry.host: entry("ada")}}
    assert file.stat().st_mode & 0o777 == 0o600
    assert {r.path for r in registry.requests} <= {"/v2/", "/token"}
    assert not any("scope" in r.query for r in registry.requests), "a login is not for one repository"


@pytest.mark.parametrize(("user", "password"), [("ada", "wrong-passw0rd"), ("nobody", PASSWORD)])
def test_a_refused_login_is_not_kept(registry: Registry, home: Path, user: str, password: str) -> None:
    error = refusal(AuthenticationError, "authentication", log_in, registry.host, user, Secret(password), home)
    assert "are the user name and the password right?" in str(error.hint)
    assert str(error.hint).endswith("; nothing was stored")
    assert error.credential == ("this login", user)
    assert error.address == registry.host
    assert password not in words_of(error)
    assert files_in(home) == []


def test_a_refused_login_leaves_the_one_before(registry: Registry, home: Path) -> None:
    put(home / ".docker/config.json", **{registry.host: entry("ada")})
    before = (home / ".docker/config.json").read_bytes()
    refusal(AuthenticationError, "authentication", log_in, registry.host, "ada", Secret("other-one"), home)
    assert (home / ".docker/config.json").read_bytes() == before


def test_the_credential_that_is_there_does_not_stand_in_for_the_new_one(registry: Registry, home: Path) -> None:
    put(home / ".docker/config.json", **{registry.host: entry("ada")})
    environ = {variable(registry): PASSWORD, variable(registry).replace("TOKEN", "USERNAME"): "ada"}
    refusal(
        AuthenticationError,
        "authentication",
        log_in,
        registry.host,
        "ada",
        Secret("wrong-passw0rd"),
        home,
        **environ,
    )


@pytest.mark.parametrize(
    ("user", "secret"),
    [
        pytest.param("", PASSWORD, id="no-user"),
        pytest.param("ada", "", id="no-password"),
        pytest.param(f"ada:{PASSWORD}", PASSWORD, id="colon"),
        pytest.param("ada", f"{PASSWORD}\udcff", id="not-utf-8"),
    ],
)
def test_what_is_no_login_is_never_sent(registry: Registry, home: Path, user: str, secret: str) -> None:
    error = refusal(ConfigError, "config", log_in, registry.host, user, Secret(secret), home)
    assert PASSWORD not in words_of(error)
    assert registry.requests == ()
    assert files_in(home) == []


def test_without_a_place_to_keep_it_nobody_is_asked(registry: Registry) -> None:
    nowhere = Operation(catalog=build(()), limits=Limits(), progress=Progress()).open_context
    refusal(ConfigError, "config", subject.log_in, registry.host, "ada", RIGHT, {}, nowhere)
    assert registry.requests == ()


def test_a_place_that_cannot_be_written(registry: Registry, home: Path) -> None:
    environ = {"REGISTRY_AUTH_FILE": "/dev/null"}
    refusal(InstallError, "install", log_in, registry.host, "ada", RIGHT, home, **environ)


def test_no_registry_there(home: Path) -> None:
    with Registry() as registry:
        host = registry.host
    error = refusal(NetworkError, "network", log_in, host, "ada", RIGHT, home)
    assert (error.hint or "").endswith("; nothing was stored")
    assert files_in(home) == []


@pytest.mark.parametrize("password", [PASSWORD, "wrong-passw0rd"])
def test_a_registry_that_lets_anybody_in_is_shown_the_login_all_the_same(home: Path, password: str) -> None:
    """As Artifactory does where anonymous access is on."""
    wrong = "Basic " + entry("ada", "wrong-passw0rd")["auth"]

    def answer(connection: Connection, request: Received) -> bool:
        refused = {k.lower(): v for k, v in request.headers.items()}.get("authorization") == wrong
        return connection.reply("401 Unauthorized" if refused else "200 OK")

    with serving(answer) as server:
        host = f"{server.host}:{server.port}"
        if password == PASSWORD:
            done = log_in(host, "ada", RIGHT, home)
            assert (done.checked, done.effective) == (False, True)
        else:
            error = refusal(AuthenticationError, "authentication", log_in, host, "ada", Secret(password), home)
            assert (error.hint or "").endswith("; nothing was stored")
            assert files_in(home) == []


def test_an_entrance_that_is_not_there(home: Path) -> None:
    with serving(lambda connection, _: connection.reply("404 Not Found")) as server:
        refusal(NotFoundError, "not-found", log_in, f"{server.host}:{server.port}", "ada", RIGHT, home)
    assert files_in(home) == []


PAGE = b"\n<!doctype html><title>Sign in</title>"


def _sso(connection: Connection, request: Received) -> bool:
    """A proxy that sends everybody to its own page first."""
    if request.target.startswith("/login"):
        return connection.reply("200 OK", PAGE, Content_Type="text/html")
    return connection.reply("302 Found", Location="/login")


WEB = pytest.mark.parametrize(
    "answer",
    [pytest.param(replying("200 OK", PAGE, Content_Type="text/html"), id="page"), pytest.param(_sso, id="sso")],
)


@WEB
def test_a_web_page_takes_no_login(home: Path, answer: Answer) -> None:
    with serving(answer) as server:
        host = f"{server.host}:{server.port}"
        error = refusal(UnsupportedContentError, "unsupported-content", log_in, host, "ada", RIGHT, home)
        assert not any("Authorization" in each.headers for each in server.received)
    assert (error.hint or "").endswith("; nothing was stored")
    assert files_in(home) == []


@WEB
@pytest.mark.parametrize(
    ("repository", "code"), [pytest.param("", "unsupported-content"), pytest.param("acme/vpc", "corrupt-archive")]
)
def test_no_credential_works_at_a_web_page(home: Path, answer: Answer, repository: str, code: str) -> None:
    with serving(answer) as server:
        checked = subject.check(f"{server.host}:{server.port}", repository, at(home))
    assert (checked.works, checked.exists) == (None, None)
    assert checked.error is not None
    assert checked.error.code == code


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(b"\xef\xbb\xbf" + PAGE, id="behind a mark"),
        pytest.param(PAGE.decode().encode("utf-16"), id="in UTF-16"),
        pytest.param(b"Please <a href='/login'>sign in</a>", id="behind words"),
    ],
)
def test_a_page_in_other_words(home: Path, page: bytes) -> None:
    with serving(replying("200 OK", page, Content_Type="text/html")) as server:
        host = f"{server.host}:{server.port}"
        refusal(UnsupportedContentError, "unsupported-content", log_in, host, "ada", RIGHT, home)
    assert files_in(home) == []


@pytest.mark.parametrize("body", [b"", b"{}", b"true", b'""'])
def test_what_registries_say_at_their_entrance(home: Path, body: bytes) -> None:
    """Quay's ``true`` is even sent as a page."""
    with serving(replying("200 OK", body, Content_Type="text/html; charset=utf-8")) as server:
        assert log_in(f"{server.host}:{server.port}", "ada", RIGHT, home).effective


def test_another_kind_of_authentication(home: Path) -> None:
    def answer(connection: Connection, _: Received) -> bool:
        return connection.reply("401 Unauthorized", WWW_Authenticate="Negotiate")

    with serving(answer) as server:
        host = f"{server.host}:{server.port}"
        error = refusal(AuthenticationError, "authentication", log_in, host, "ada", RIGHT, home)
    assert "in another way than Basic and Bearer" in (error.hint or "")


def test_the_login_does_not_follow_a_redirect_elsewhere(home: Path) -> None:
    """The headers that reach the other origin have no credential in them."""
    seen: list[dict[str, str]] = []

    def other(connection: Connection, request: Received) -> bool:
        seen.append({name.lower(): value for name, value in request.headers.items()})
        return connection.reply("200 OK")

    with serving(other) as elsewhere:
        target = f"http://{elsewhere.host}:{elsewhere.port}/v2/"
        with serving(lambda c, _: c.reply("307 Temporary Redirect", Location=target)) as server:
            log_in(f"{server.host}:{server.port}", "ada", RIGHT, home)
    assert len(seen) >= 1
    assert not any("authorization" in headers for headers in seen)


def test_a_token_in_the_place_of_the_user_name_is_not_shown(home: Path) -> None:
    token = "t0ken-t0ken"
    with Registry(access=Access(scheme="basic", users={token: User(token)})) as registry:
        done = log_in(registry.host, token, Secret(token), home)
        assert done.username == "****"
        assert token not in repr(done)
        assert json.loads((home / ".docker/config.json").read_text())["auths"][registry.host] == entry(token, token)


def test_a_helper_keeps_it(registry: Registry, home: Path, tmp_path: Path) -> None:
    helpers = Helpers(tmp_path)
    keychain = helpers.keychain("chain")
    (home / ".docker").mkdir()
    (home / ".docker/config.json").write_text('{"credsStore": "chain"}')
    done = log_in(registry.host, "ada", RIGHT, home, PATH=helpers.path)
    assert done.stored_in == "docker-credential-chain, as ~/.docker/config.json says"
    assert done.effective
    assert keychain.kept == {registry.host: ["ada", PASSWORD]}
    assert PASSWORD not in (home / ".docker/config.json").read_text()


@pytest.mark.parametrize("source", ["file", "environment"])
def test_what_comes_before_the_login_is_named(registry: Registry, home: Path, source: str) -> None:
    environ = {}
    if source == "file":
        put(home / ".config/containers/auth.json", **{registry.host: entry("bob")})
        expected = f"~/.config/containers/auth.json, auths '{registry.host}'"
    else:
        environ = {variable(registry): "t0ken-t0ken"}
        expected = variable(registry)
    done = log_in(registry.host, "ada", RIGHT, home, **environ)
    assert (done.effective, done.found_in) == (False, expected)


# ------------------------------------------------------------------------------------------------------ log out


def test_out_again(registry: Registry, home: Path) -> None:
    log_in(registry.host, "ada", RIGHT, home)
    registry.forget_requests()
    out = log_out(registry.host, home)
    assert out == subject.LoggedOut(registry=registry.host, removed_from=("~/.docker/config.json",), still_in=None)
    assert log_out(registry.host, home).removed_from == ()
    assert registry.requests == ()


def test_another_source_still_has_a_credential(home: Path) -> None:
    put(home / ".config/containers/auth.json", **{"ghcr.io": entry("bob")})
    out = log_out("ghcr.io", home)
    assert (out.removed_from, out.still_in) == ((), "~/.config/containers/auth.json, auths 'ghcr.io'")
    out = log_out("ghcr.io", home, GETMODULES_TOKEN_ghcr_io="t0ken-t0ken")
    assert out.still_in == "GETMODULES_TOKEN_ghcr_io"


def test_docker_hub_has_one_login_under_all_its_names(home: Path) -> None:
    put(home / ".docker/config.json", **{"https://index.docker.io/v1/": entry("ada")})
    assert log_out("docker.io", home).removed_from == ("~/.docker/config.json",)
    put(home / ".config/containers/auth.json", **{"docker.io": entry("bob")})
    assert log_out("registry-1.docker.io", home).still_in is not None


# -------------------------------------------------------------------------------------------------------- check


def test_a_credential_that_works(registry: Registry, home: Path) -> None:
    put(home / ".docker/config.json", **{registry.host: entry("bob")})
    checked = subject.check(registry.host, "acme/vpc", at(home))
    assert (checked.kind, checked.username) == ("user name and password", "bob")
    assert checked.found_in == f"~/.docker/config.json, auths '{registry.host}'"
    assert [each.outcome for each in checked.considered] == ["not set", "used"]
    assert "~/.docker/config.json" in checked.files
    assert (checked.asked, checked.works, checked.exists, checked.error) == (True, True, True, None)
    assert PASSWORD not in repr(checked)
    assert entry("bob")["auth"] not in repr(checked)


def test_a_repository_that_is_not_there_works(registry: Registry, home: Path) -> None:
    put(home / ".docker/config.json", **{registry.host: entry("ada")})
    checked = subject.check(registry.host, "acme/none", at(home))
    assert (checked.works, checked.exists, checked.error) == (True, False, None)


def test_the_registry_alone(registry: Registry, home: Path) -> None:
    put(home / ".docker/config.json", **{registry.host: entry("ada")})
    checked = subject.check(registry.host, "", at(home))
    assert (checked.repository, checked.asked, checked.works, checked.exists) == ("", True, True, None)


@pytest.mark.parametrize(
    ("auths", "kind"),
    [
        pytest.param(None, None, id="none"),
        pytest.param(entry("ada", "wrong-passw0rd"), "user name and password", id="wrong"),
        pytest.param(entry("bob"), "user name and password", id="not-allowed"),
        pytest.param({"registrytoken": "wrong-t0ken"}, "token", id="token"),
    ],
)
def test_a_credential_that_does_not_work(
    registry: Registry, home: Path, auths: Mapping[str, str] | None, kind: str | None
) -> None:
    if auths:
        put(home / ".docker/config.json", **{registry.host: auths})
    checked = subject.check(registry.host, "secret/vpc", at(home))
    assert (checked.kind, checked.works, checked.exists) == (kind, False, None)
    assert isinstance(checked.error, AuthenticationError)
    assert checked.error.code in ("authentication", "authentication/forbidden")
    assert checked.error.address == f"{registry.host}/secret/vpc"


def test_an_identity_token(home: Path) -> None:
    with registry_with("bearer") as registry:
        put(home / ".docker/config.json", **{registry.host: {"identitytoken": registry.identity_token("ada")}})
        checked = subject.check(registry.host, "acme/vpc", at(home))
        assert subject.check(registry.host, "", at(home)).works is True
    assert (checked.kind, checked.username, checked.works) == ("identity token", None, True)


def test_a_token_of_the_environment_comes_first(registry: Registry, home: Path) -> None:
    put(home / ".docker/config.json", **{registry.host: entry("ada")})
    environ = {variable(registry): PASSWORD, variable(registry).replace("TOKEN", "USERNAME"): "bob"}
    checked = subject.check(registry.host, "acme/vpc", at(home, **environ))
    assert (checked.username, checked.found_in, checked.works) == ("bob", variable(registry), True)
    assert [(each.where, each.outcome) for each in checked.considered] == [(variable(registry), "used")]


def test_nobody_asks_for_a_credential(home: Path) -> None:
    with registry_with("none") as registry:
        checked = subject.check(registry.host, "acme/vpc", at(home))
    assert (checked.kind, checked.asked, checked.works, checked.exists) == (None, False, True, True)


def test_a_public_repository_works_without_a_credential(home: Path) -> None:
    with registry_with("bearer") as registry:
        checked = subject.check(registry.host, "public/vpc", at(home))
    assert (checked.kind, checked.asked, checked.works) == (None, True, True)


def test_a_user_name_that_is_the_token_is_not_shown(registry: Registry, home: Path) -> None:
    put(home / ".docker/config.json", **{registry.host: entry("t0ken-t0ken", "t0ken-t0ken")})
    checked = subject.check(registry.host, "acme/vpc", at(home))
    assert checked.username == "****"
    assert "t0ken" not in repr(checked)


def test_what_cannot_be_found_out(home: Path) -> None:
    with Registry() as registry:
        host = registry.host
    checked = subject.check(host, "acme/vpc", at(home))
    assert checked.works is None
    assert isinstance(checked.error, NetworkError)


def test_docker_hub_is_asked_where_it_is(home: Path) -> None:
    """Over a proxy that takes no connections, so that nobody is asked in truth."""
    put(home / ".docker/config.json", **{"https://index.docker.io/v1/": entry("ada")})
    network = NetSettings(retries=0, connect_seconds=1, proxies={"https": "http://127.0.0.1:9"})
    checked = subject.check("docker.io", "nginx", at(home, network))
    assert (checked.registry, checked.repository, checked.username) == ("docker.io", "library/nginx", "ada")
    assert checked.works is None
    variables = [each.where for each in checked.considered if each.outcome == "not set"]
    assert variables[0] == "GETMODULES_TOKEN_docker_io"
    assert "GETMODULES_TOKEN_registry__1_docker_io" in variables
    named = subject.check("docker.io", "nginx", at(home, network, GETMODULES_TOKEN_docker_io="t0ken-t0ken"))
    assert (named.kind, named.found_in) == ("token", "GETMODULES_TOKEN_docker_io")
    assert subject.check("docker.io", "", at(home, network)).repository == ""
