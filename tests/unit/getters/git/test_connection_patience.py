"""How long a git command may be silent, how often it is run again, and which host an error names."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pytest

from getmodules.addresses.url import check_url
from getmodules.api.ports import Context, Progress
from getmodules.errors import GetModulesError, NetworkError
from getmodules.getters.git.connection import connected
from getmodules.getters.git.errors import FailedCommand, git_error, may_pass
from getmodules.getters.git.locate import refs_of
from getmodules.getters.git.remote import Remote
from getmodules.net.settings import ClientNetwork, NetSettings
from tests.support.contexts import a_context
from tests.support.gitstores import a_git
from tests.support.servers import Answer, Connection, Received, free_port, replying, serving, silent

TWICE = NetSettings(timeout=0.6, retries=1, backoff_seconds=0.01)


def context_with(settings: NetSettings, tmp_path: Path, **more: Any) -> Context:
    environ = dict(a_git().context.environ)
    return a_context(tmp_path, network=ClientNetwork(settings), environ=environ, **more)


def failure(url: str, tmp_path: Path, settings: NetSettings = TWICE, **more: Any) -> GetModulesError:
    with pytest.raises(GetModulesError) as caught:
        refs_of(Remote(check_url(url)), context_with(settings, tmp_path, **more))
    return caught.value


@pytest.mark.parametrize(
    ("answer", "code", "asked"),
    [
        pytest.param(replying("503 Busy"), "network", 2, id="503"),
        pytest.param(lambda connection, _: connection.reset(), "network", 2, id="reset"),
        pytest.param(replying("500 No"), "network", 2, id="500"),
        pytest.param(replying("501 No"), "network", 1, id="501"),
        pytest.param(replying("404 No"), "not-found", 1, id="404"),
        pytest.param(replying("403 No"), "authentication/forbidden", 1, id="403"),
    ],
)
def test_only_what_may_pass_is_run_again(answer: Answer, code: str, asked: int, tmp_path: Path) -> None:
    with serving(answer) as server:
        error = failure(f"http://127.0.0.1:{server.port}/r.git", tmp_path)
    assert error.code == code
    assert server.connections == asked


def test_a_silent_server_is_waited_for_so_often_and_no_longer(tmp_path: Path) -> None:
    began = time.monotonic()
    with serving(silent) as server:
        place = f"127.0.0.1:{server.port}"
        error = failure(f"http://{place}/r.git", tmp_path)
    assert error.code == "network/timeout"
    assert place in error.message
    assert server.connections == 2
    assert time.monotonic() - began < 6


def test_no_retries_are_one_run(tmp_path: Path) -> None:
    with serving(replying("503 Busy")) as server:
        failure(f"http://127.0.0.1:{server.port}/r.git", tmp_path, NetSettings(retries=0))
    assert server.connections == 1


def test_it_goes_on_after_a_failure_that_passed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []

    def answer(connection: Connection, request: Received) -> bool:
        seen.append(request.target)
        return connection.reply("503 Busy") if len(seen) == 1 else connection.reply("404 No")

    with serving(answer) as server, caplog.at_level(logging.DEBUG, "getmodules"):
        error = failure(f"http://127.0.0.1:{server.port}/r.git", tmp_path)
        place = f"127.0.0.1:{server.port}"
    assert (error.code, len(seen)) == ("not-found", 2)
    assert f"git ls-remote http://{place}/r.git, try 1 of 2" in caplog.text
    assert "try 1 of 2 failed: " in caplog.text
    assert "seconds before the next try" in caplog.text


def test_a_connection_that_is_refused_names_host_and_port(tmp_path: Path) -> None:
    port = free_port()
    error = failure(f"http://127.0.0.1:{port}/r.git", tmp_path, NetSettings(retries=0), way="the mirror of github.com")
    place = f"connecting to 127.0.0.1:{port}, the mirror of github.com: the connection was refused"
    assert place in error.message


@pytest.mark.parametrize(
    ("said", "words", "again"),
    [
        pytest.param(
            "fatal: unable to access 'https://h/r/': Failed to connect to cdn.example port 8443 after 3 ms: Couldn't "
            "connect to server",
            "connecting to cdn.example:8443: the connection was refused",
            True,
            id="curl was redirected",
        ),
        pytest.param(
            "fatal: unable to access 'https://h/r/': Could not resolve host: cdn.example",
            "connecting to cdn.example: the host is not known",
            False,
            id="a name after a redirect",
        ),
        pytest.param(
            "fatal: unable to access 'https://h/r/': Could not resolve host: h",
            "connecting to h:443, W: the host is not known",
            False,
            id="its own name",
        ),
        pytest.param("ssh: connect to host h port 443: Connection refused", "connecting to h:443, W: ", True, id="ssh"),
        pytest.param(
            "ssh: Could not resolve hostname h: Temporary failure in name resolution",
            "temporary failure in name resolution",
            True,
            id="a name server that is silent",
        ),
        pytest.param("fatal: early EOF", "the connection failed", True, id="cut"),
    ],
)
def test_the_host_that_git_names(said: str, words: str, again: bool) -> None:
    error = git_error(said, FailedCommand("git fetch from https://h/r", place="h:443, W"))
    assert isinstance(error, NetworkError)
    assert words in error.message
    assert may_pass(error) is again


@pytest.mark.parametrize(
    ("settings", "low_speed", "connect"),
    [
        pytest.param(NetSettings(), "30", "ConnectTimeout=10 ", id="the defaults"),
        pytest.param(NetSettings(timeout=2.5), "3", "ConnectTimeout=3 ", id="less"),
        pytest.param(NetSettings(timeout=90), "90", "ConnectTimeout=10 ", id="more"),
    ],
)
def test_what_git_and_ssh_are_told(settings: NetSettings, low_speed: str, connect: str, tmp_path: Path) -> None:
    git = a_git(network=ClientNetwork(settings))
    with connected(Remote(check_url("https://127.0.0.1/r")), git, tmp_path) as connection:
        environ = connection.environment(tmp_path)
    names = {environ[key]: environ[key.replace("KEY", "VALUE")] for key in environ if key.startswith("GIT_CONFIG_KEY_")}
    assert names["http.lowSpeedTime"] == low_speed
    assert names["http.lowSpeedLimit"] == "1024"
    assert connect in environ["GIT_SSH_COMMAND"] + " "


def test_a_note_names_the_silent_server(tmp_path: Path) -> None:
    said: list[str] = []

    class Notes(Progress):
        def notice(self, package: str, message: str) -> None:
            said.append(message)

    context = context_with(TWICE, tmp_path, progress=Notes())
    git = a_git(network=context.network)
    with connected(Remote(check_url("http://127.0.0.1:8080/r")), git, tmp_path) as connection:
        connection.process_limits(context).tell_silence()
    assert said == ["127.0.0.1:8080 has sent nothing for 15 seconds; after 0.6 it counts as failed"]


def test_the_question_for_a_redirect_is_counted_with_the_runs_of_git(tmp_path: Path) -> None:
    """git is told of a redirect at once, and the question where it leads to is not answered."""
    seen: list[str] = []

    def answer(connection: Connection, request: Received) -> bool:
        is_git = request.headers["User-Agent"].startswith("git/")
        seen.append("git" if is_git else "we")
        if is_git:
            return connection.reply("301 Moved", Location="/elsewhere.git/info/refs?service=git-upload-pack")
        return silent(connection, request)

    with serving(answer) as server:
        error = failure(f"http://127.0.0.1:{server.port}/r.git", tmp_path)
    assert error.code == "network/timeout"
    assert seen == ["git", "we", "git", "we"]


def test_a_server_behind_a_redirect_is_the_one_that_is_named(tmp_path: Path) -> None:
    with serving(silent) as there:

        def sends_on(connection: Connection, request: Received) -> bool:
            return connection.reply("301 Moved", Location=f"{there.url}{request.target}")

        with serving(sends_on) as here:
            error = failure(f"http://127.0.0.1:{here.port}/r.git", tmp_path, NetSettings(timeout=0.6, retries=0))
        assert f"127.0.0.1:{there.port}, where 127.0.0.1:{here.port} sent us" in error.message
