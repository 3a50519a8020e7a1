"""Calls into plugins: what passes, what is wrapped, what is closed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from getmodules import FetchError, Kind, Member, PluginContractError, VerificationError
from getmodules.files.local import LocalFile
from getmodules.plugins.guard import MOST_LISTED, Guard, clean, described
from tests.support.refusals import refusal

GUARD = Guard("acme", "acme-plugin 1.0")


class _Source:
    """Yields its items, raises what is an exception, and counts how often it was closed."""

    def __init__(self, *items: Any, closing: BaseException | None = None) -> None:
        self.items = items
        self.closing = closing
        self.closed = 0

    def __iter__(self) -> Iterator[Any]:
        for item in self.items:
            if isinstance(item, BaseException):
                raise item
            yield item

    def close(self) -> None:
        self.closed += 1
        if self.closing is not None:
            raise self.closing


class _Odd(BaseException):
    pass


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    "error",
    [ValueError("v"), SystemExit(1), GeneratorExit(), StopIteration(), _Odd("o")],
    ids=lambda e: type(e).__name__,
)
def test_whatever_is_raised_becomes_one_error(error: BaseException) -> None:
    found = refusal(PluginContractError, "plugin-contract", GUARD.call, "the call", _raise, error)
    assert found.__cause__ is error
    assert "plugin 'acme' (acme-plugin 1.0): the call raised" in found.message
    assert "--no-plugin acme" in (found.typed_hint or "")


@pytest.mark.parametrize(
    "error", [ValueError("v"), SystemExit(1), GeneratorExit(), _Odd("o")], ids=lambda e: type(e).__name__
)
def test_whatever_an_iteration_raises_as_well(error: BaseException) -> None:
    found = refusal(PluginContractError, "plugin-contract", list, GUARD.chunks("reading", _Source(b"x", error)))
    assert found.__cause__ is error
    assert f"reading raised {type(error).__name__}" in found.message


def test_an_interrupt_passes() -> None:
    with pytest.raises(KeyboardInterrupt):
        GUARD.call("the call", _raise, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        list(GUARD.chunks("reading", _Source(b"x", KeyboardInterrupt())))


def test_our_own_errors_pass_as_they_are_but_for_secrets() -> None:
    error = FetchError("no https://u:pw@h", hint="\x1b[2J", address="https://h/?token=t")
    with pytest.raises(FetchError) as caught:
        GUARD.call("the call", _raise, error)
    assert caught.value is error
    assert error.__cause__ is None
    assert (error.message, error.hint, error.address) == ("no https://u:****@h", "\\x1b[2J", "https://h/?token=****")
    again = str(error)
    clean(error)
    assert str(error) == again


def test_an_exception_that_cannot_be_shown() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert described(MuteError()) == "MuteError: what it says cannot be shown"
    assert described(ValueError()) == "ValueError"
    assert described(ValueError("https://u:pw@h\n")) == "ValueError: https://u:****@h\\n"


def test_a_method_that_is_not_there() -> None:
    assert (
        "AttributeError"
        in refusal(PluginContractError, "plugin-contract", GUARD.call_method, "it", object(), "fetch").message
    )
    assert GUARD.call_method("it", "text", "replace", "t", "T") == "TexT"


def test_a_list_that_has_no_end() -> None:
    source = _Source(*range(MOST_LISTED + 5))
    refusal(PluginContractError, "plugin-contract", GUARD.collect, "it", source)
    assert source.closed == 1
    assert GUARD.collect("it", range(MOST_LISTED)) == tuple(range(MOST_LISTED))


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        pytest.param(b"ab", b"ab", id="bytes"),
        pytest.param(bytearray(b"ab"), b"ab", id="bytearray"),
        pytest.param(memoryview(b"ab"), b"ab", id="memoryview"),
        pytest.param(memoryview(bytes(8)).cast("Q"), bytes(8), id="a memoryview of wider things"),
    ],
)
def test_chunks_are_exactly_bytes(chunk: Any, expected: bytes) -> None:
    (found,) = GUARD.chunks("reading", [chunk])
    assert type(found) is bytes
    assert found == expected


@pytest.mark.parametrize("chunk", ["text", 3, None, [b"x"]], ids=repr)
def test_chunks_that_are_none(chunk: Any) -> None:
    assert (
        "where bytes are needed"
        in refusal(PluginContractError, "plugin-contract", list, GUARD.chunks("reading", [chunk])).message
    )


def test_a_source_is_closed_once_at_its_end() -> None:
    source = _Source(b"x")
    chunks = GUARD.chunks("reading", source)
    assert list(chunks) == [b"x"]
    chunks.close()
    assert source.closed == 1


@pytest.mark.parametrize("started", [False, True])
def test_a_source_is_closed_before_its_end(started: bool) -> None:
    source = _Source(b"x", b"y")
    chunks = GUARD.chunks("reading", source)
    if started:
        next(iter(chunks))
    chunks.close()
    chunks.close()
    assert source.closed == 1


def test_a_source_that_raised_is_closed() -> None:
    source = _Source(ValueError("v"), closing=ValueError("c"))
    error = refusal(PluginContractError, "plugin-contract", list, GUARD.chunks("reading", source))
    assert "ValueError: v" in error.message, "the first error is the one to tell"
    assert source.closed == 1


def test_a_close_that_fails_is_an_error_at_the_end_and_a_line_in_the_log_before(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = _Source(b"x", closing=ValueError("stuck"))
    error = refusal(PluginContractError, "plugin-contract", list, GUARD.chunks("reading", source))
    assert "reading, closing raised ValueError: stuck" in error.message
    with caplog.at_level(logging.WARNING, "getmodules"):
        GUARD.chunks("reading", _Source(b"x", closing=ValueError("also stuck"))).close()
    assert "also stuck" in caplog.text


def _opened(member: Member) -> Any:
    (guarded,) = GUARD.members("fetch", [member])
    return guarded.open()


def test_what_a_member_opens_is_guarded() -> None:
    assert list(_opened(Member("a", open=lambda: [b"x"]))) == [b"x"]
    assert _opened(Member("a", open=lambda: (b"x",))) == (b"x",)
    refusal(PluginContractError, "plugin-contract", _opened, Member("a", open=lambda: 1 // 0))  # type: ignore[arg-type, return-value]
    refusal(PluginContractError, "plugin-contract", list, _opened(Member("a", open=lambda: ["x"])))  # type: ignore[list-item]


def test_a_file_on_this_machine_stays_one(tmp_path: Any) -> None:
    file = LocalFile(tmp_path / "x", 1)
    assert _opened(Member("a", open=lambda: file)) is file


@pytest.mark.parametrize(
    ("member", "fault"),
    [
        pytest.param(("a", Kind.FILE, None, False, tuple, ""), "yielded tuple of str, not Member", id="a plain tuple"),
        pytest.param(tuple.__new__(Member, ("a",)), "without all its arguments", id="too short"),
        pytest.param(Member(b"a"), "name is bytes, not str", id="name"),  # type: ignore[arg-type]
        pytest.param(Member("a", "file"), "kind is str, not Kind", id="kind"),  # type: ignore[arg-type]
        pytest.param(Member("a", size=-1), "size is negative", id="negative size"),
        pytest.param(Member("a", size=True), "size is bool, not int, or None", id="size as bool"),
        pytest.param(Member("a", executable=None), "executable is NoneType, not bool", id="executable"),  # type: ignore[arg-type]
        pytest.param(Member("a", open=b"x"), "open is bytes, not function", id="open"),  # type: ignore[arg-type]
        pytest.param(Member("a", target=None), "target is NoneType, not str", id="target"),  # type: ignore[arg-type]
    ],
)
def test_a_member_of_wrong_types(member: Any, fault: str) -> None:
    members: Iterable[Member] = GUARD.members("fetch", [member])
    assert fault in refusal(PluginContractError, "plugin-contract", list, members).message


@pytest.mark.parametrize("is_ours", [False, True])
def test_whose_words_an_error_has_is_its_hint(is_ours: bool) -> None:
    """Of a plugin that says itself why: nobody could tell else which policy refused."""

    def refuse() -> None:
        raise VerificationError("I refuse")

    error = refusal(VerificationError, "verification", GUARD._replace(is_ours=is_ours).call, "verify", refuse)
    assert error.hint == (None if is_ours else f"{GUARD} says so")
