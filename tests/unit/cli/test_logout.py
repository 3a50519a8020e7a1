"""``getmodules logout``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commandline import Result, call

ENTRY = {"auth": "YWRhOnMzY3IzdA=="}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / ".docker" / "config.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"auths": {"ghcr.io": ENTRY, "other.example": ENTRY}}))
    return file


def logout(config: Path, *argv: str, **environ: str) -> Result:
    return call("logout", *argv, environ={"HOME": str(config.parent.parent), **environ})


def test_what_was_there_is_removed_and_nothing_else(config: Path) -> None:
    assert logout(config, "ghcr.io") == (0, "logged out of ghcr.io; removed from ~/.docker/config.json\n", "")
    assert json.loads(config.read_text()) == {"auths": {"other.example": ENTRY}}


def test_that_there_was_nothing_is_said_and_no_error(config: Path) -> None:
    before = config.read_bytes()
    assert logout(config, "quay.io") == (0, "there was no login for quay.io\n", "")
    assert config.read_bytes() == before


def test_another_source_is_named(config: Path) -> None:
    result = logout(config, "ghcr.io", GETMODULES_TOKEN_ghcr_io="s3cr3t-t0ken")
    assert result.code == 0
    assert result.err == "note: GETMODULES_TOKEN_ghcr_io still has a credential for ghcr.io\n"
    assert logout(config, "ghcr.io", "-q", GETMODULES_TOKEN_ghcr_io="s3cr3t-t0ken") == (0, "", "")


def test_what_json_has(config: Path) -> None:
    result = logout(config, "ghcr.io", "--json")
    assert list(result.object.items()) == [
        ("registry", "ghcr.io"), ("removed_from", ["~/.docker/config.json"]), ("still_in", None),
    ]  # fmt: skip


@pytest.mark.parametrize("host", ["ghcr.io/acme", "http://ghcr.io", "ada:s3cr3t@ghcr.io"])
def test_what_is_no_registry(config: Path, host: str) -> None:
    before = config.read_bytes()
    result = logout(config, host)
    assert (result.code, result.out) == (2, "")
    assert "s3cr3t" not in result.err
    assert config.read_bytes() == before


def test_a_file_that_is_malformed_is_left_alone(config: Path) -> None:
    config.write_text("{")
    result = logout(config, "ghcr.io")
    assert (result.code, result.out) == (2, "")
    assert config.read_text() == "{"
