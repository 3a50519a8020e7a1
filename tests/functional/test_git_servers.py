"""Real servers in every dress: what is moved, who is let in, and what each failure is called."""

from __future__ import annotations

import random
import shlex
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from getmodules import (
    AuthenticationError,
    Client,
    CorruptArchiveError,
    FetchError,
    GetModulesError,
    Limits,
    NetworkError,
    NotFoundError,
    RateLimitedError,
    ToolMissingError,
    UnsafeContentError,
)
from getmodules.net.settings import NetSettings
from tests.support.certificates import Authority
from tests.support.gitplaces import Place
from tests.support.gitrepos import Repository
from tests.support.gitservers import GitServer, git_daemon, git_http
from tests.support.refusals import words_of
from tests.support.servers import free_port

pytestmark = pytest.mark.slow

USER, PASSWORD = "ada", "s3cr3t-p4ss"
FILES = {"main.tf": b"# main\n", "wanted/a.tf": b"# a\n"}


def token(place: Place, port: int, secret: str = PASSWORD, user: str | None = USER, host: str = "127_0_0_1") -> None:
    place.environ[f"GETMODULES_TOKEN_{host}_{port}"] = secret
    if user is not None:
        place.environ[f"GETMODULES_USERNAME_{host}_{port}"] = user


# --------------------------------------------------------------------------------------------- what is moved


@pytest.fixture
def long_history(place: Place) -> list[str]:
    """Thirty commits, each of which changes 20 kB of noise; besides, at all times, a file in a small directory."""
    noise = random.Random(6)
    repository, commits = place.repository(), []
    for _ in range(30):
        files = {"noise": noise.randbytes(20_000), **FILES}
        commits.append(repository.commit_files(files, *commits[-1:]))
    repository.tag(commits[20], "v1")
    repository.tag(repository.annotate(commits[10], "v2"), "v2")
    return commits


ALL, ONE, LITTLE = 600_000, 30_000, 6_000


@pytest.mark.parametrize(
    ("suffix", "number"),
    [
        pytest.param("", 29, id="HEAD"),
        pytest.param("?ref=main", 29, id="branch"),
        pytest.param("?ref=v1", 20, id="tag"),
        pytest.param("?ref=v2", 10, id="annotated tag"),
        pytest.param("?ref={5}", 5, id="commit"),
    ],
)
@pytest.mark.parametrize("subdir", ["", "//wanted"], ids=["whole", "subdirectory"])
def test_little_is_moved(suffix: str, number: int, subdir: str, place: Place, long_history: list[str]) -> None:
    suffix = suffix.replace("{5}", long_history[5])
    with git_http(place.root) as server:
        assert place.get(f"git::{server.url}/a.git{subdir}{suffix}").id == long_history[number]
        assert server.bytes_sent < (LITTLE if subdir else ONE)


@pytest.mark.parametrize(
    ("behaviour", "suffix", "bound", "notice"),
    [
        pytest.param({"filters": False}, "//wanted?ref=v1", ONE, False, id="no filters"),
        pytest.param({"protocol": 0}, "?ref=v1", ONE, False, id="version 0, tag"),
        pytest.param({"protocol": 0}, "?ref={5}", ONE, False, id="version 0, commit by its id"),
        pytest.param({"protocol": 0, "any_sha": False}, "?ref=main", ONE, False, id="version 0, branch"),
        pytest.param({"protocol": 0, "any_sha": False}, "?ref=v2", ONE, False, id="version 0, annotated tag"),
        pytest.param({"protocol": 0, "any_sha": False}, "?ref={29}", ONE, False, id="version 0, commit at a tip"),
        pytest.param({"protocol": 0, "any_sha": False}, "?ref={5}", 2 * ALL, True, id="version 0, commit refused"),
    ],
)
def test_the_next_cheaper_way_where_a_server_refuses(
    behaviour: dict[str, Any], suffix: str, bound: int, notice: bool, place: Place, long_history: list[str]
) -> None:
    for number in (5, 29):
        suffix = suffix.replace(f"{{{number}}}", long_history[number])
    with git_http(place.root, **behaviour) as server:
        installed = place.get(f"git::{server.url}/a.git{suffix}")
        assert installed.files == (1 if "wanted" in suffix else 3)
        assert server.bytes_sent < bound
    assert place.notices.about("history") is notice, place.notices.said


def test_a_tag_and_a_commit_of_one_repository_cost_one_question(place: Place, long_history: list[str]) -> None:
    """What a server is asked for is what git needs for one fetch: capabilities, refs, objects."""
    with git_http(place.root) as server:
        place.get(f"git::{server.url}/a.git?ref={long_history[5]}")
        assert server.packs == 1
        assert len(server.exchanges) <= 3


def test_dumb_http(place: Place, long_history: list[str]) -> None:
    """Files on a web server, as ``git update-server-info`` prepares them."""
    refs = "".join(f"{commit}\trefs/heads/{name}\n" for name, commit in (("main", long_history[-1]),))
    (place.root / "a.git" / "info").mkdir()
    (place.root / "a.git" / "info" / "refs").write_text(refs)
    with git_http(place.root, dumb=True) as server:
        assert place.get(f"git::{server.url}/a.git?ref=main").id == long_history[-1]


@pytest.mark.parametrize("suffix", ["", "?ref=v2", "?ref={5}", "//wanted"])
def test_git_daemon(suffix: str, place: Place, long_history: list[str]) -> None:
    with git_daemon(place.root) as url:
        installed = place.get(f"git::{url}/a.git{suffix.replace('{5}', long_history[5])}")
        assert installed.files == (1 if "wanted" in suffix else 3)
        place.refused(f"git::{url}/absent.git", NotFoundError, "not-found", dest=place.work / "other")


# --------------------------------------------------------------------------------------------- who is let in


@pytest.fixture
def guarded(place: Place) -> Iterator[GitServer]:
    place.repository().commit_files(FILES)
    with git_http(place.root, basic=(USER, PASSWORD)) as server:
        yield server


def test_a_token_of_the_environment(guarded: GitServer, place: Place) -> None:
    token(place, guarded.port)
    place.get(f"git::{guarded.url}/a.git")
    assert place.files() == FILES


def test_a_token_alone(guarded: GitServer, place: Place) -> None:
    """Forges take any user's name with a token for the password; those that want their own get that."""
    guarded.behave(basic=("x-access-token", PASSWORD))
    token(place, guarded.port, user=None)
    place.get(f"git::{guarded.url}/a.git")
    assert place.files() == FILES


def test_netrc(guarded: GitServer, place: Place) -> None:
    (place.home / ".netrc").write_text(f"machine 127.0.0.1 login {USER} password {PASSWORD}\n")
    (place.home / ".netrc").chmod(0o600)
    place.get(f"git::{guarded.url}/a.git")
    assert place.files() == FILES


def test_the_users_own_credential_helper(guarded: GitServer, place: Place) -> None:
    helper = place.home / "helper"
    helper.write_text(f"#!/bin/sh\n[ \"$1\" = get ] && printf 'username={USER}\\npassword={PASSWORD}\\n'\n")
    helper.chmod(0o755)
    (place.home / ".gitconfig").write_text(f"[credential]\n\thelper = {shlex.quote(str(helper))}\n")
    place.get(f"git::{guarded.url}/a.git")
    assert place.files() == FILES


@pytest.mark.parametrize("by", ["helper", "netrc"])
def test_what_git_found_and_the_server_refuses(by: str, guarded: GitServer, place: Place) -> None:
    if by == "netrc":
        (place.home / ".netrc").write_text(f"machine 127.0.0.1 login {USER} password wr0ng-p4ss\n")
    else:
        helper = place.home / "helper"
        helper.write_text(f'#!/bin/sh\n[ "$1" = get ] && echo username={USER} && echo password=wr0ng-p4ss\n')
        helper.chmod(0o755)
        (place.home / ".gitconfig").write_text(f"[credential]\n\thelper = {shlex.quote(str(helper))}\n")
    error = place.refused(f"git::{guarded.url}/a.git", AuthenticationError, "authentication")
    if by == "helper":
        assert "does not accept the credentials that git found" in error.message
        assert "expired" in str(error.hint)
    else:  # what curl finds there, git never hears of
        assert "none were found that it takes" in error.message
    assert "wr0ng-p4ss" not in words_of(error)


def test_a_helper_that_stores_is_not_told_of_tokens_of_the_environment(guarded: GitServer, place: Place) -> None:
    (place.home / ".gitconfig").write_text("[credential]\n\thelper = store\n")
    token(place, guarded.port)
    place.get(f"git::{guarded.url}/a.git")
    assert not (place.home / ".git-credentials").exists()


def test_a_token_in_place_of_the_user_is_stored_nowhere(guarded: GitServer, place: Place) -> None:
    (place.home / ".gitconfig").write_text("[credential]\n\thelper = store\n")
    guarded.behave(basic=(PASSWORD, ""))
    installed = place.get(f"git::{guarded.url.replace('//', f'//{PASSWORD}@')}/a.git")
    assert place.files() == FILES
    assert PASSWORD not in str(installed.pinned)
    assert not (place.home / ".git-credentials").exists()


def test_the_user_of_the_address_and_the_password_of_a_helper(guarded: GitServer, place: Place) -> None:
    helper = place.home / "helper"
    helper.write_text(f'#!/bin/sh\n[ "$1" = get ] && grep -q username={USER} && echo password={PASSWORD}\n')
    helper.chmod(0o755)
    (place.home / ".gitconfig").write_text(f"[credential]\n\thelper = {shlex.quote(str(helper))}\n")
    place.get(f"git::{guarded.url.replace('//', f'//{USER}@')}/a.git")
    assert place.files() == FILES


def test_a_user_whom_nobody_knows_the_password_of(guarded: GitServer, place: Place) -> None:
    error = place.refused(
        f"git::{guarded.url.replace('//', f'//{USER}@')}/a.git", AuthenticationError, "authentication"
    )
    assert "the address" in error.message


@pytest.mark.parametrize("scheme", ["http", "https", "ssh"])
def test_instead_of(scheme: str, guarded: GitServer, place: Place) -> None:
    """It is the user's own word, so it may lead to another transport, also to one that no redirect may lead to."""
    guarded.behave(basic=None)
    settings = f'[url "{guarded.url}/"]\n\tinsteadOf = {scheme}://forge.example/\n'
    (place.home / ".gitconfig").write_text(settings)
    installed = place.get(f"git::{scheme}://forge.example/a.git")
    assert installed.pinned == f"git::{scheme}://forge.example/a.git?ref={installed.id}"
    assert place.files() == FILES


@pytest.mark.parametrize("by", ["address", "environment"])
def test_a_login_of_ones_own_stands_above_that_of_a_rule(by: str, guarded: GitServer, place: Place) -> None:
    place_of_server = guarded.url.removeprefix("http://")
    rule = f'[url "http://other:wr0ng-p4ss@{place_of_server}/"]\n\tinsteadOf = {guarded.url}/\n'
    (place.home / ".gitconfig").write_text(rule)
    if by == "environment":
        token(place, guarded.port)
        place.get(f"git::{guarded.url}/a.git")
    else:
        place.get(f"git::http://{USER}:{PASSWORD}@{place_of_server}/a.git")
    assert place.files() == FILES


def test_the_users_ssh_command_where_instead_of_leads_to_ssh(place: Place) -> None:
    place.repository().commit_files(FILES)
    program, log = place.home / "ssh", place.home / "log"
    program.write_text(f'#!/bin/sh\necho "$*" >> {log}\nfor last; do :; done\nexec sh -c "$last"\n')
    program.chmod(0o755)
    (place.home / ".gitconfig").write_text(
        f"[core]\n\tsshCommand = {program} -F mine\n"
        f'[url "ssh://git@forge.example{place.root}/"]\n\tinsteadOf = https://forge.example/\n'
    )
    place.get("git::https://forge.example/a.git")
    assert place.files() == FILES
    assert "BatchMode=yes" in log.read_text()
    assert "-F mine" in log.read_text()


def test_without_credentials(guarded: GitServer, place: Place) -> None:
    error = place.refused(f"git::{guarded.url}/a.git", AuthenticationError, "authentication")
    assert "GETMODULES_TOKEN_127_0_0_1" in str(error.hint)


def test_with_a_wrong_password(guarded: GitServer, place: Place) -> None:
    token(place, guarded.port, "wr0ng-p4ss")
    error = place.refused(f"git::{guarded.url}/a.git", AuthenticationError, "authentication")
    assert f"GETMODULES_TOKEN_127_0_0_1_{guarded.port}" in words_of(error)
    assert "wr0ng-p4ss" not in words_of(error)


@pytest.mark.parametrize("with_token", [True, False], ids=["with a token", "without"])
def test_forbidden(with_token: bool, guarded: GitServer, place: Place) -> None:
    guarded.behave(status="403 Forbidden")
    if with_token:
        token(place, guarded.port)
    place.refused(f"git::{guarded.url}/a.git", AuthenticationError, "authentication/forbidden")


def test_a_token_of_another_port_is_not_sent(guarded: GitServer, place: Place) -> None:
    token(place, guarded.port + 1)
    token(place, 80, host="127_0_0_2")
    place.refused(f"git::{guarded.url}/a.git", AuthenticationError, "authentication")
    assert not any("Authorization" in exchange.headers for exchange in guarded.exchanges)


def test_a_redirect_does_not_take_the_token_along(guarded: GitServer, place: Place) -> None:
    token(place, guarded.port)
    with git_http(place.root, host="127.0.0.2", basic=(USER, PASSWORD)) as other:
        guarded.behave(redirect=other.url)
        with pytest.raises(GetModulesError) as caught:
            place.get(f"git::{guarded.url}/a.git")
        assert not any("Authorization" in exchange.headers for exchange in other.exchanges)
        assert PASSWORD not in words_of(caught.value)
    place.nothing_is_left()


def test_a_password_in_the_address_is_used_and_never_shown(guarded: GitServer, place: Place) -> None:
    host = guarded.url.removeprefix("http://")
    installed = place.get(f"git::http://{USER}:{PASSWORD}@{host}/a.git")
    assert place.files() == FILES
    assert PASSWORD not in f"{installed}"
    again = place.get(installed.pinned.replace("//", f"//{USER}:{PASSWORD}@", 1), dest=place.work / "again")
    assert again.h1 == installed.h1


# --------------------------------------------------------------------------------------------- redirects, TLS


def test_a_redirect_of_the_first_request_is_followed(place: Place) -> None:
    """As of a forge whose repository was renamed."""
    place.repository().commit_files(FILES)
    with git_http(place.root) as target, git_http(place.root, redirect=target.url) as server:
        place.get(f"git::{server.url}/a.git")
    assert place.files() == FILES


@pytest.mark.parametrize(
    ("target", "kind", "code"),
    [
        pytest.param("file:///etc", UnsafeContentError, "unsafe-content/elsewhere", id="file"),
        pytest.param("ftp://127.0.0.1:1/x", UnsafeContentError, "unsafe-content/elsewhere", id="ftp"),
        pytest.param("gopher://127.0.0.1:1/x", UnsafeContentError, "unsafe-content/elsewhere", id="gopher"),
        pytest.param("ext::sh -c id", UnsafeContentError, "unsafe-content/elsewhere", id="ext"),
        pytest.param("ssh://-oProxyCommand=id/x", UnsafeContentError, "unsafe-content/elsewhere", id="ssh"),
        pytest.param("http://240.0.0.1:1", UnsafeContentError, "unsafe-content/elsewhere", id="further in"),
    ],
)
def test_a_redirect_that_is_not_followed(target: str, kind: type[GetModulesError], code: str, place: Place) -> None:
    place.repository().commit_files(FILES)
    with git_http(place.root, redirect=target) as server:
        place.refused(f"git::{server.url}/a.git", kind, code)


def test_an_endless_redirect(place: Place) -> None:
    with git_http(place.root) as server:
        server.behave(redirect=server.url)
        place.refused(f"git::{server.url}/a.git", FetchError, "fetch/too-many-hops")


def test_https_never_becomes_http(place: Place, authority: Authority) -> None:
    place.repository().commit_files(FILES)
    place.environ["SSL_CERT_FILE"] = str(authority.ca)
    with git_http(place.root) as plain, git_http(place.root, tls=authority, redirect=plain.url) as server:
        place.refused(f"git::{server.url}/a.git", UnsafeContentError, "unsafe-content/elsewhere")
        assert plain.exchanges == []


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO"])
def test_an_authority_of_ones_own(variable: str, place: Place, authority: Authority) -> None:
    place.repository().commit_files(FILES)
    with git_http(place.root, tls=authority) as server:
        error = place.refused(f"git::{server.url}/a.git", NetworkError, "network/certificate")
        assert error.hint
        place.environ[variable] = str(authority.ca)
        place.get(f"git::{server.url}/a.git")
    assert place.files() == FILES


def test_the_option_for_an_authority_stands_above_gits_variable(place: Place, authority: Authority) -> None:
    place.repository().commit_files(FILES)
    place.environ["GIT_SSL_CAINFO"] = "/nonexistent"
    with git_http(place.root, tls=authority) as server:
        network = NetSettings(ca_file=str(authority.ca))
        with Client(environ=place.environ, limits=place.limits, network=network) as client:
            client.get(f"git::{server.url}/a.git", place.dest)
    assert place.files() == FILES


@pytest.mark.parametrize("where", ["environment", "configuration"])
def test_verification_cannot_be_switched_off_for_all(where: str, place: Place, authority: Authority) -> None:
    if where == "environment":
        place.environ["GIT_SSL_NO_VERIFY"] = "1"
    else:
        (place.home / ".gitconfig").write_text("[http]\n\tsslVerify = false\n")
    with git_http(place.root, tls=authority) as server:
        place.refused(f"git::{server.url}/a.git", NetworkError, "network/certificate")


def test_a_server_that_speaks_no_tls(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    with client:
                        client.recv(100)
                        client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            source = f"git::https://127.0.0.1:{listener.getsockname()[1]}/a.git"
            place.refused(source, NetworkError, "network")
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_certificate_of_another_name(place: Place, authority: Authority) -> None:
    place.environ["SSL_CERT_FILE"] = str(authority.ca)
    with git_http(place.root, host="127.0.0.3", tls=authority) as server:
        place.refused(f"git::{server.url}/a.git", NetworkError, "network/certificate")


# --------------------------------------------------------------------------------------------- failures

STATUSES = [
    pytest.param("404 Not Found", NotFoundError, "not-found", id="404"),
    pytest.param("410 Gone", NotFoundError, "not-found", id="410"),
    pytest.param("429 Too Many Requests", RateLimitedError, "rate-limited", id="429"),
    pytest.param("500 Internal Server Error", NetworkError, "network", id="500"),
    pytest.param("502 Bad Gateway", NetworkError, "network", id="502"),
    pytest.param("503 Service Unavailable", NetworkError, "network", id="503"),
    pytest.param("418 Teapot", NetworkError, "network", id="418"),
]


@pytest.mark.parametrize(("status", "kind", "code"), STATUSES)
@pytest.mark.parametrize("when", ["at once", "for the pack"])
def test_statuses(status: str, kind: type[GetModulesError], code: str, when: str, place: Place) -> None:
    commit = place.repository().commit_files(FILES)
    behaviour = {"status" if when == "at once" else "pack_status": status}
    with git_http(place.root, **behaviour) as server:
        error = place.refused(f"git::{server.url}/a.git?ref={commit}", kind, code)
    assert status[:3] in words_of(error) or kind is NotFoundError


def test_no_content_instead_of_a_pack(place: Place) -> None:
    place.repository().commit_files(FILES)
    with git_http(place.root, pack_status="204 No Content") as server:
        place.refused(f"git::{server.url}/a.git", NetworkError, "network")


def test_a_login_page_instead_of_a_repository(place: Place) -> None:
    with git_http(place.root, status="200 OK") as server, pytest.raises(GetModulesError) as caught:
        place.get(f"git::{server.url}/a.git")
    assert caught.value.code in ("not-found", "network"), caught.value


def test_a_repository_that_is_not_there(place: Place) -> None:
    with git_http(place.root) as server:
        place.refused(f"git::{server.url}/absent.git", NotFoundError, "not-found")
    place.refused(place.file_url("absent"), NotFoundError, "not-found")


#: Each has words that mean something where a program says them.
NAMES = ["terraform-aws-acm-certificate", "lambda-timeout", "safe.directory", "No%20space%20left%20on%20device"]


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_what_is_not_there_says_nothing(name: str, place: Place) -> None:
    with git_http(place.root) as server, git_daemon(place.root) as daemon:
        for url in (server.url, daemon, f"file://{place.root}"):
            error = place.refused(f"git::{url}/{name}.git", NotFoundError, "not-found")
            assert "there is no repository" in error.message
        server.behave(status="503 Service Unavailable")
        place.refused(f"git::{server.url}/{name}.git", NetworkError, "network")
    place.refused(f"git::{server.url}/{name}.git", NetworkError, "network")


@pytest.mark.parametrize("words", ["No space left on device", "certificate", "no\nfatal: No space left on device"])
def test_what_a_server_says_of_this_machine_does_not_count(words: str, place: Place) -> None:
    packet = f"ERR {words}\n".encode()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    with client:
                        client.recv(1000)
                        client.sendall(f"{len(packet) + 4:04x}".encode() + packet)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            url = f"git::git://127.0.0.1:{listener.getsockname()[1]}/a.git"
            error = place.refused(url, NetworkError, "network")
            assert words.partition("\n")[0] in error.message  # it is shown all the same
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize("cut", [0, 1, 200, 5_000])
def test_a_pack_that_is_cut_off(cut: int, place: Place) -> None:
    place.repository().commit_files({"noise": random.Random(7).randbytes(100_000)})
    with git_http(place.root, cut=cut) as server, pytest.raises((NetworkError, CorruptArchiveError)) as caught:
        place.get(f"git::{server.url}/a.git")
    assert caught.value.code in ("network", "corrupt-archive")
    place.nothing_is_left()
    assert list(place.work.iterdir()) == []


@pytest.mark.parametrize("scheme", ["http", "https", "git", "ssh"])
def test_a_refused_connection(scheme: str, place: Place) -> None:
    error = place.refused(f"git::{scheme}://127.0.0.1:{free_port()}/a.git", NetworkError, "network")
    assert "127.0.0.1" in words_of(error)


@pytest.mark.parametrize("scheme", ["http", "https", "git", "ssh"])
def test_an_unknown_host(scheme: str, place: Place) -> None:
    error = place.refused(f"git::{scheme}://absent.invalid/a.git", NetworkError, "network")
    assert "absent.invalid" in words_of(error)


def hanging(place: Place, what: str) -> dict[str, Any]:
    place.limits = Limits(seconds=2)
    return {"silent": {"silent": True}, "slow": {"drip": 0.5}}[what]


@pytest.mark.parametrize("what", ["silent", "slow"])
def test_the_deadline_ends_it(what: str, place: Place) -> None:
    place.repository().commit_files(FILES)
    with git_http(place.root, **hanging(place, what)) as server:
        place.refused(f"git::{server.url}/a.git", NetworkError, "network/timeout")


def test_a_git_daemon_that_says_nothing(place: Place) -> None:
    place.limits = Limits(seconds=2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"git::git://127.0.0.1:{silent.getsockname()[1]}/a.git"
        place.refused(url, NetworkError, "network/timeout")


def test_without_git(place: Place) -> None:
    empty = place.home / "bin"
    empty.mkdir()
    place.environ["PATH"] = str(empty)
    error = place.refused(place.file_url(), ToolMissingError, "tool-missing")
    assert "git" in error.message
    assert "2." in words_of(error)


def test_a_git_that_is_too_old(place: Place) -> None:
    directory = place.home / "bin"
    directory.mkdir()
    old = directory / "git"
    old.write_text(
        "#!/bin/sh\nfor word; do [ \"$word\" = version ] && { echo 'git version 1.8.3.1'; exit 0; }; done\n"
        "echo 'usage: git [--version] [--help] [-c name=value]' >&2\nexit 129\n"
    )
    old.chmod(0o755)
    Repository(place.root / "a.git").commit_files(FILES)
    place.environ["PATH"] = f"{directory}:{place.environ['PATH']}"
    error = place.refused(place.file_url(), ToolMissingError, "tool-missing")
    assert "1.8" in error.message
