"""``getmodules login``: where user names and passwords come from, and what is said afterwards."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules.testing import Access, Registry, User
from tests.support.commandline import Result, call

PASSWORD = "s3cr3t-p4ss"


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry(access=Access(scheme="bearer", users={"ada": User(PASSWORD)})) as running:
        yield running


def login(home: Path, *argv: str, stdin: str = "", **environ: str) -> Result:
    result = call("login", *argv, stdin=stdin, environ={"HOME": str(home), **environ})
    assert PASSWORD not in result.out + result.err
    return result


def kept(home: Path) -> bool:
    return (home / ".docker").exists()


@pytest.mark.parametrize("end", ["", "\n", "\r\n"], ids=["no-end", "unix", "windows"])
def test_from_standard_input(registry: Registry, tmp_path: Path, end: str) -> None:
    result = login(tmp_path, registry.host, "-u", "ada", "--password-stdin", stdin=PASSWORD + end)
    assert result == (0, f"logged in to {registry.host} as ada; stored in ~/.docker/config.json\n", "")
    auth = base64.b64encode(f"ada:{PASSWORD}".encode()).decode()
    assert json.loads((tmp_path / ".docker/config.json").read_text()) == {"auths": {registry.host: {"auth": auth}}}


def test_what_json_has(registry: Registry, tmp_path: Path) -> None:
    result = login(tmp_path, registry.host, "-u", "ada", "--password-stdin", "--json", stdin=PASSWORD)
    assert (result.code, result.err) == (0, "")
    assert list(result.object.items()) == [
        ("registry", registry.host),
        ("username", "ada"),
        ("stored_in", "~/.docker/config.json"),
        ("checked", True),
        ("found_in", f"~/.docker/config.json, auths '{registry.host}'"),
        ("effective", True),
    ]


def test_a_refused_login_ends_with_4(registry: Registry, tmp_path: Path) -> None:
    result = login(tmp_path, registry.host, "-u", "ada", "--password-stdin", stdin="wrong-passw0rd\n")
    assert (result.code, result.out) == (4, "")
    assert "hint: the credentials were refused: are the user name and the password right?" in result.err
    assert "; nothing was stored\n" in result.err
    assert result.err.endswith("code: authentication\n")
    assert "wrong-passw0rd" not in result.err
    assert not kept(tmp_path)


@pytest.mark.parametrize("form", ["https://{}/", "oci://{}", "{}/"])
def test_a_host_may_be_pasted_as_an_address(form: str, registry: Registry, tmp_path: Path) -> None:
    result = login(tmp_path, form.format(registry.host), "-u", "ada", "--password-stdin", stdin=PASSWORD)
    assert result == (0, f"logged in to {registry.host} as ada; stored in ~/.docker/config.json\n", "")
    assert call("logout", form.format(registry.host), environ={"HOME": str(tmp_path)}).code == 0


def test_without_a_terminal_the_hint_can_be_typed(registry: Registry, tmp_path: Path) -> None:
    result = login(tmp_path, registry.host, "-u", "ada")
    assert f"hint: getmodules login {registry.host} -u ada --password-stdin < FILE\n" in result.err


def test_what_comes_first_is_a_note(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / ".config/containers/auth.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"auths": {registry.host: {"auth": base64.b64encode(b"bob:0ther-p4ss").decode()}}}))
    argv = [registry.host, "-u", "ada", "--password-stdin"]
    result = login(tmp_path, *argv, stdin=PASSWORD)
    assert result.code == 0
    assert result.err == (
        f"note: ~/.config/containers/auth.json, auths '{registry.host}' comes first: "
        "that is what will be used, not this login\n"
    )
    assert login(tmp_path, *argv, "-q", stdin=PASSWORD) == (0, "", "")


def test_a_registry_that_asks_for_nothing_is_a_note(tmp_path: Path) -> None:
    with Registry() as registry:
        result = login(tmp_path, registry.host, "-u", "ada", "--password-stdin", stdin=PASSWORD)
    assert result.code == 0
    assert result.err.startswith(f"note: {registry_name(result)} lets anybody in at its entrance")


def registry_name(result: Result) -> str:
    return result.out.removeprefix("logged in to ").partition(" ")[0]


@pytest.mark.parametrize(
    ("argv", "stdin", "message"),
    [
        pytest.param(["-u", "ada"], "", "there is no terminal to ask for the password on", id="no-terminal"),
        pytest.param([], "", "there is no terminal to ask", id="no-terminal-for-anything"),
        pytest.param(["--password-stdin"], PASSWORD, "--password-stdin needs a user name", id="no-user"),
        pytest.param(["-u", "", "--password-stdin"], PASSWORD, "--user is empty", id="empty-user"),
        pytest.param(["-u", "ada", "--password-stdin"], "", "an empty password is no login", id="empty"),
        pytest.param(["-u", "ada", "--password-stdin"], "\n", "an empty password is no login", id="blank-line"),
        pytest.param(["-u", "ada", "--password-stdin"], f"{PASSWORD}\nb\n", "more than one line", id="two-lines"),
        pytest.param(["-u", "ada", "--password-stdin"], "x" * 65_537, "too long", id="too-long"),
        pytest.param(["-u", "ada", "--password-stdin"], f"{PASSWORD}\udcff", "not UTF-8", id="not-utf-8"),
        pytest.param(["-u", f"ada:{PASSWORD}", "--password-stdin"], "x", "no colon", id="password-in-the-user-name"),
        pytest.param(["-p", PASSWORD], "", "is seen by everybody", id="p"),
        pytest.param([f"-p{PASSWORD}"], "", "is seen by everybody", id="p-attached"),
        pytest.param([f"--password={PASSWORD}"], "", "is seen by everybody", id="password"),
        pytest.param(["--password", PASSWORD, "-u", "ada"], "", "is seen by everybody", id="password-apart"),
    ],
)
def test_what_is_no_login(argv: list[str], stdin: str, message: str, registry: Registry, tmp_path: Path) -> None:
    result = login(tmp_path, registry.host, *argv, stdin=stdin)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.endswith("code: config\n")
    assert registry.requests == ()
    assert not kept(tmp_path)


def test_without_a_terminal_the_hint_says_how(registry: Registry, tmp_path: Path) -> None:
    assert "-u USER --password-stdin < FILE" in login(tmp_path, registry.host).err


def test_the_help_has_no_way_to_say_a_password() -> None:
    assert "--password " not in call("login", "--help").out.replace("--password-stdin", "")
