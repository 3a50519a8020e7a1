"""netrc, as people write it, and as they get it wrong."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from getmodules.net.credentials import from_netrc

ENTRY = "machine h.example login ada password s3cr3t\n"


def written(tmp_path: Path, text: str | bytes, mode: int = 0o600) -> dict[str, str]:
    """The environment of somebody whose ``~/.netrc`` has ``text``."""
    file = tmp_path / ".netrc"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    file.chmod(mode)
    return {"HOME": str(tmp_path)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(ENTRY, ("ada", "s3cr3t"), id="one line"),
        pytest.param("machine h.example\n\tlogin ada\n\tpassword s3cr3t", ("ada", "s3cr3t"), id="several lines"),
        pytest.param("machine h.example\r\nlogin ada\r\npassword s3cr3t\r\n", ("ada", "s3cr3t"), id="windows"),
        pytest.param("machine H.Example login ada password s3cr3t", ("ada", "s3cr3t"), id="case of the host"),
        pytest.param("machine h.example password s3cr3t login ada", ("ada", "s3cr3t"), id="order"),
        pytest.param("machine h.example password s3cr3t", ("", "s3cr3t"), id="no login"),
        pytest.param("machine h.example account a login ada password s3cr3t", ("ada", "s3cr3t"), id="account"),
        pytest.param("machine x login u password p " + ENTRY, ("ada", "s3cr3t"), id="another one before"),
        pytest.param(ENTRY + "machine h.example login eve password later", ("ada", "s3cr3t"), id="the first counts"),
        pytest.param("machine h.example login ada\n" + ENTRY, ("ada", "s3cr3t"), id="one without a password before"),
        pytest.param("default login u password p\n" + ENTRY, ("ada", "s3cr3t"), id="default before"),
        pytest.param("# machine h.example login no password no\n" + ENTRY, ("ada", "s3cr3t"), id="comment"),
        pytest.param("machine h.example login ada password #s3#cr3t", ("ada", "#s3#cr3t"), id="password with #"),
        pytest.param("machine h.example login ada password machine", ("ada", "machine"), id="password is a keyword"),
        pytest.param('machine h.example login ada password "s3 cr\\"3t"', ("ada", 's3 cr"3t'), id="quotes"),
        pytest.param('machine h.example login ada password s3"cr3t', ("ada", 's3"cr3t'), id="quote inside"),
        pytest.param("machine h.example login ada password pässwört", ("ada", "pässwört"), id="not ascii"),
        pytest.param("macdef init\nmachine h.example login no password no\n\n" + ENTRY, ("ada", "s3cr3t"), id="macro"),
        pytest.param("MACHINE h.example LOGIN ada Password s3cr3t", ("ada", "s3cr3t"), id="capitals"),
        pytest.param("MacDef x\nmachine h.example password no\n\n" + ENTRY, ("ada", "s3cr3t"), id="macro in capitals"),
        pytest.param("protocol https " + ENTRY, ("ada", "s3cr3t"), id="unknown words"),
        pytest.param("", None, id="empty"),
        pytest.param("machine example login ada password s3cr3t", None, id="a shorter name"),
        pytest.param("machine xh.example login ada password s3cr3t", None, id="a longer name"),
        pytest.param("machine h.example:443 login ada password s3cr3t", None, id="with a port: no name of a host"),
        pytest.param("default login ada password s3cr3t", None, id="default is for nobody"),
        pytest.param("machine h.example login ada", None, id="no password"),
        pytest.param("machine h.example login ada password", None, id="ends before the password"),
        pytest.param('machine h.example login ada password "s3cr3t', None, id="a quote that never ends"),
        pytest.param('machine x password "open\n' + ENTRY, None, id="nothing is read behind a quote that never ends"),
        pytest.param("macdef init\n" + ENTRY, None, id="a macro without an end"),
        pytest.param("machine", None, id="no name"),
    ],
)
def test_what_a_file_has_for_a_host(tmp_path: Path, text: str, expected: tuple[str, str] | None) -> None:
    found = from_netrc(written(tmp_path, text), "h.example")
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert (found.username, found.secret.reveal(), found.found_in) == (*expected, "~/.netrc")
    assert expected[1] not in repr(found)


def test_netrc_names_another_file(tmp_path: Path) -> None:
    environ = written(tmp_path, ENTRY)
    other = tmp_path / "other"
    other.write_text("machine h.example login eve password 0ther")
    found = from_netrc({**environ, "NETRC": str(other)}, "h.example")
    assert found is not None
    assert (found.username, found.found_in) == ("eve", f"NETRC ({other})")


@pytest.mark.parametrize("named", ["", "/dev/null", "/nonexistent/netrc", "/dev/null/x"])
def test_netrc_says_that_there_is_none(tmp_path: Path, named: str, caplog: pytest.LogCaptureFixture) -> None:
    assert from_netrc({**written(tmp_path, ENTRY), "NETRC": named}, "h.example") is None
    assert caplog.records == []


def test_without_a_home_there_is_none() -> None:
    assert from_netrc({}, "h.example") is None
    assert from_netrc({"HOME": ""}, "h.example") is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param(b"machine h.example password \xff", "broken", id="not UTF-8"),
        pytest.param(ENTRY.encode() + b"#" * (1 << 20), "too large", id="too large"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_warning(
    tmp_path: Path, text: bytes, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert from_netrc(written(tmp_path, text), "h.example") is None
    assert [word in record.getMessage() for record in caplog.records] == [True]
    assert "s3cr3t" not in caplog.text


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".netrc")
    assert from_netrc({"HOME": str(tmp_path)}, "h.example") is None


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_file_that_others_can_read_is_used_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    assert from_netrc(written(tmp_path, ENTRY, 0o644), "h.example") is not None
    assert "chmod 600" in caplog.text
    assert "s3cr3t" not in caplog.text


def test_a_link_to_the_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    written(tmp_path / "dotfiles", ENTRY)
    (tmp_path / ".netrc").symlink_to("dotfiles/.netrc")
    assert from_netrc({"HOME": str(tmp_path)}, "h.example") is not None
