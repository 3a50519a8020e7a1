from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from getmodules.errors import ConfigError
from getmodules.getters.oci import docker_config as authfiles
from getmodules.getters.oci.docker_config import (
    FILE_BYTES,
    AuthFile,
    auth_files,
    contents,
    credential_of,
    login_file,
    parse_key,
    read_document,
)

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the place is Linux's")


def b64(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


# ------------------------------------------------------------------------------------------------ where they are


@linux
@pytest.mark.parametrize(
    ("environ", "named", "expected"),
    [
        pytest.param(
            {"HOME": "/h"},
            None,
            ["~/.config/containers/auth.json", "~/.docker/config.json", "~/.dockercfg"],
            id="a-home",
        ),
        pytest.param(
            {
                "HOME": "/h",
                "REGISTRY_AUTH_FILE": "/r/a.json",
                "XDG_RUNTIME_DIR": "/run/u",
                "XDG_CONFIG_HOME": "/c",
                "DOCKER_CONFIG": "/d",
            },
            "/n.json",
            [
                "/n.json",
                "/r/a.json",
                "/run/u/containers/auth.json",
                "/c/containers/auth.json",
                "/d/config.json",
                "~/.dockercfg",
            ],
            id="everything",
        ),
        pytest.param({}, None, [], id="no-home"),
        pytest.param({"HOME": "", "DOCKER_CONFIG": "", "XDG_CONFIG_HOME": ""}, None, [], id="empty-is-unset"),
        pytest.param({"DOCKER_CONFIG": "/d"}, None, ["/d/config.json"], id="no-home-but-docker-config"),
        pytest.param(
            {"HOME": "/h", "REGISTRY_AUTH_FILE": "/h/.docker/config.json"},
            None,
            ["~/.docker/config.json", "~/.config/containers/auth.json", "~/.dockercfg"],
            id="once-however-many-lead-there",
        ),
        pytest.param({"DOCKER_CONFIG": "/d\x1b[2J"}, None, [r"/d\x1b[2J/config.json"], id="shown-escaped"),
    ],
)
def test_places(environ: dict[str, str], named: str | None, expected: list[str]) -> None:
    files = auth_files(environ, Path(named) if named else None)
    assert [file.shown for file in files] == expected
    assert [file.shown for file in files if file.named] == ([named] if named else [])


@linux
def test_without_a_runtime_directory_the_one_of_podman_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authfiles, "CONTAINERS_RUN_DIRECTORY", tmp_path)
    place = tmp_path / str(os.geteuid()) / "auth.json"
    assert auth_files({}) == ()
    place.parent.mkdir()
    place.write_text("{}")
    assert [file.path for file in auth_files({"DOCKER_CONFIG": "/d"})] == [place, Path("/d/config.json")]
    assert [file.path for file in auth_files({"XDG_RUNTIME_DIR": "/r"})] == [Path("/r/containers/auth.json")]


@linux
def test_what_somebody_else_has_put_there_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authfiles, "CONTAINERS_RUN_DIRECTORY", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    (tmp_path / "12345").mkdir()
    (tmp_path / "12345" / "auth.json").write_text("{}")
    assert auth_files({}) == ()


@pytest.mark.parametrize(
    ("environ", "named", "expected"),
    [
        pytest.param({"HOME": "/h"}, None, "/h/.docker/config.json", id="home"),
        pytest.param({"HOME": "/h", "DOCKER_CONFIG": "/d"}, None, "/d/config.json", id="docker-config"),
        pytest.param({"HOME": "/h", "DOCKER_CONFIG": "/d", "REGISTRY_AUTH_FILE": "/r"}, None, "/r", id="auth-file"),
        pytest.param({"HOME": "/h", "REGISTRY_AUTH_FILE": "/r"}, "/n", "/n", id="named"),
    ],
)
def test_where_a_login_goes(environ: dict[str, str], named: str | None, expected: str) -> None:
    file = login_file(environ, Path(named) if named else None)
    assert file.path == Path(expected)


def test_a_login_without_any_place() -> None:
    with pytest.raises(ConfigError) as caught:
        login_file({})
    assert caught.value.code == "config"
    assert "DOCKER_CONFIG" in (caught.value.hint or "")


# ------------------------------------------------------------------------------------------------- what they say


def a_file(path: Path, *, legacy: bool = False) -> AuthFile:
    return AuthFile(path=path, shown="~/config.json", legacy=legacy)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    assert read_document(a_file(tmp_path / "absent")) is None
    assert read_document(a_file(tmp_path / "plain" / "config.json")) is None


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text(" \n")
    assert read_document(a_file(tmp_path / "empty")) == {}
    assert read_document(a_file(Path(os.devnull))) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="no fifos")
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_document(a_file(tmp_path / "pipe")) == {}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"[]", "must be an object", id="array"),
        pytest.param(b'{"auths": {}', "not usable JSON", id="cut"),
        pytest.param(b'{"auths": {}, "auths": {}}', "stands twice", id="duplicate"),
        pytest.param(b'{"x": "' + b"x" * FILE_BYTES + b'"}', "more than the 1,048,576", id="too-large"),
        pytest.param(b'{"auths": []}', "'auths' must be an object", id="auths"),
        pytest.param(b'{"credHelpers": {"ghcr.io": 1}}', "'ghcr.io' must be a string", id="helpers"),
        pytest.param(b'{"credsStore": {}}', "'credsStore' must be a string", id="store"),
    ],
)
def test_a_malformed_file(tmp_path: Path, data: bytes, reason: str) -> None:
    file = a_file(tmp_path / "config.json")
    file.path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        contents(read_document(file) or {}, file)
    assert caught.value.code == "config"
    assert caught.value.message.startswith("the credential file ~/config.json")
    assert reason in caught.value.message


def test_a_directory_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_document(a_file(tmp_path))
    assert caught.value.code == "config"
    assert "cannot read the credentials in ~/config.json" in caught.value.message


def test_null_is_absent(tmp_path: Path) -> None:
    found = contents({"auths": None, "credHelpers": None, "credsStore": None}, a_file(tmp_path))
    assert (dict(found.auths), dict(found.helpers), found.store) == ({}, {}, None)


def test_the_plainest_spelling_comes_first(tmp_path: Path) -> None:
    document = {"auths": {"https://ghcr.io/": 1, "x": 2, "GHCR.IO": 3, "ghcr.io": 4, "ghcr.io/acme": 5}}
    found = contents(document, a_file(tmp_path))
    assert [value for _, value in found.entries(parse_key("ghcr.io"))] == [4, 1, 3]
    assert [value for _, value in found.entries(parse_key("ghcr.io/acme"))] == [5]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param({"credsStore": "s"}, ["s"], id="store"),
        pytest.param({"credHelpers": {"ghcr.io": "h"}, "credsStore": "s"}, ["h", "s"], id="helper-first"),
        pytest.param({"credHelpers": {"https://GHCR.io/v2/": "h"}}, ["h"], id="spelling"),
        pytest.param({"credHelpers": {"other.io": "h"}}, [], id="another-host"),
        pytest.param({"credHelpers": {"ghcr.io/acme": "h"}}, [], id="no-paths-here"),
        pytest.param({"credHelpers": {"ghcr.io": ""}, "credsStore": "s"}, [], id="empty-means-the-file"),
        pytest.param({"credsStore": ""}, [], id="empty-store"),
    ],
)
def test_helpers_for_a_host(tmp_path: Path, document: dict[str, Any], expected: list[str]) -> None:
    found = contents(document, a_file(tmp_path))
    assert [name for _, name in found.helpers_for("ghcr.io")] == expected


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param({"auth": b64("ann:pw")}, ("ann", "pw", False), id="auth"),
        pytest.param({"auth": b64("ann:p:w:")}, ("ann", "p:w:", False), id="colons-in-the-password"),
        pytest.param({"auth": b64("ann:pw\0\0")}, ("ann", "pw", False), id="padded-with-nul"),
        pytest.param({"auth": b64("änn:pß")}, ("änn", "pß", False), id="not-ascii"),
        pytest.param({"auth": b64("ann:pw") + "\n"}, ("ann", "pw", False), id="line-end"),
        pytest.param({"auth": b64(":pw")}, ("", "pw", False), id="no-user"),
        pytest.param({"username": "ann", "password": "pw"}, ("ann", "pw", False), id="members"),
        pytest.param(
            {"username": "x", "password": "y", "auth": b64("ann:pw")}, ("ann", "pw", False), id="auth-beats-members"
        ),
        pytest.param({"auth": b64("ann:"), "identitytoken": "tok"}, (None, "tok", True), id="identity"),
        pytest.param({"identitytoken": " tok\n"}, (None, "tok", True), id="identity-alone"),
        pytest.param({"registrytoken": "tok", "auth": b64("ann:pw")}, (None, "tok", False), id="registry-token"),
        pytest.param({"auth": b64("ann:pw"), "email": "x", "unknown": []}, ("ann", "pw", False), id="other-members"),
        pytest.param({}, None, id="empty"),
        pytest.param(None, None, id="null"),
        pytest.param({"auth": ""}, None, id="empty-auth"),
        pytest.param({"auth": b64("ann:")}, None, id="no-password"),
        pytest.param({"auth": None, "identitytoken": None}, None, id="nulls"),
    ],
)
def test_an_entry(entry: Any, expected: tuple[str | None, str, bool] | None) -> None:
    credential = credential_of(entry, "it", "there")
    if expected is None:
        assert credential is None
    else:
        assert credential is not None
        assert (credential.username, credential.secret.reveal(), credential.identity) == expected
        assert credential.found_in == "there"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        pytest.param([], "must be an object", id="array"),
        pytest.param({"auth": 1}, "'auth' must be a string", id="number"),
        pytest.param({"auth": "hunter2!"}, "'auth' is not base64", id="not-base64"),
        pytest.param({"auth": "hunter2"}, "'auth' is not base64", id="cut-base64"),
        pytest.param({"auth": b64("hunter2")}, "has no colon", id="no-colon"),
        pytest.param({"auth": b64(b"hunter2:\xff")}, "is not UTF-8", id="not-utf-8"),
        pytest.param({"identitytoken": "hunter2\r\nX: y"}, "characters that no token has", id="token-with-line-end"),
        pytest.param({"registrytoken": "hunter2 \x1b"}, "characters that no token has", id="token-with-escape"),
    ],
)
def test_a_broken_entry_never_shows_itself(entry: Any, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        credential_of(entry, "~/x, auths 'ghcr.io'", "there")
    assert caught.value.code == "config"
    assert caught.value.message.startswith("~/x, auths 'ghcr.io'")
    assert reason in caught.value.message
    assert "hunter2" not in json.dumps(caught.value.as_json())
    if isinstance(entry, dict) and isinstance(entry.get("auth"), str):
        assert entry["auth"] not in caught.value.message
