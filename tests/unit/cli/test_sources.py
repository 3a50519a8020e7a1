"""Several sources: each is answered, and the gravest error decides."""

from __future__ import annotations

import pytest

from tests.support.commandline import call


def test_each_source_has_its_line_in_order() -> None:
    result = call("detect", "/b", "/a", "/c")
    assert result == (0, "file:///b\nfile:///a\nfile:///c\n", "")


@pytest.mark.parametrize(
    ("argv", "stdin", "paths"),
    [
        pytest.param(["-"], "/a\n/b\n", ["a", "b"], id="alone"),
        pytest.param(["/x", "-", "/y"], "/a\n/b", ["x", "a", "b", "y"], id="in between"),
        pytest.param(["-"], "\n/a\n \n\t\n/b\n\n", ["a", "b"], id="blank lines"),
        pytest.param(["-"], "/a\r\n/b\r\n", ["a", "b"], id="line ends of Windows"),
        pytest.param(["-"], "", [], id="nothing"),
        pytest.param(["-", "-"], "/a\n", ["a"], id="twice"),
        pytest.param(["/x"], "/a\n", ["x"], id="not asked for"),
    ],
)
def test_a_dash_reads_sources_from_standard_input(argv: list[str], stdin: str, paths: list[str]) -> None:
    result = call("detect", *argv, stdin=stdin)
    assert result == (0, "".join(f"file:///{path}\n" for path in paths), "")


def test_one_that_fails_does_not_keep_the_others_from_being_answered() -> None:
    result = call("detect", "/a", "nothing known", "/b")
    assert (result.code, result.out) == (2, "file:///a\nfile:///b\n")
    assert result.err.count("error: ") == 1
    assert "address: nothing known" in result.err


def test_one_that_fails_has_its_object_in_its_place() -> None:
    result = call("detect", "--json", "/a", "nothing known", "/b")
    first, second, third = result.objects
    assert result.code == 2
    assert (first["source"], second["source"], third["source"]) == ("/a", "nothing known", "/b")
    assert list(second) == ["source", "error"]
    assert list(second["error"]) == ["code", "message", "hint", "address"]
    assert second["error"]["code"] == "address"
    assert result.err.count("error: ") == 1


def test_a_failed_source_is_shown_without_its_password() -> None:
    result = call("detect", "--json", "nope://user:secret@host/x", "https://h/x?ref=%zz&token=secret")
    assert result.code == 2
    assert len(result.objects) == 2
    assert "secret" not in result.out + result.err


def test_the_gravest_error_decides(here: object) -> None:
    # 1: there is no such archive, so there is nothing to pin; 2: no such scheme
    assert call("resolve", "./missing.zip").code == 1
    assert call("resolve", "./missing.zip", "nope://x/y", "./missing.zip").code == 2


def test_no_source_is_a_mistake() -> None:
    result = call("detect")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: the following arguments are required: SOURCE\n")
