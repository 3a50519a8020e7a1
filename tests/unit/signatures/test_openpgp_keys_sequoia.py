"""The library that may be missing, and what it says when it does not like something."""

from __future__ import annotations

import sys

import pytest

from getmodules import ToolMissingError
from getmodules.signatures.openpgp import find_signer
from getmodules.signatures.openpgp_keys import UnusableError, call_sequoia, enum_name, import_sequoia
from tests.support.refusals import refusal
from tests.support.releases import NOW, SHASUMS, read


class PanicException(BaseException):
    """By the name that the real one has; that one can be had only by crashing."""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(RuntimeError("no\n\nStack backtrace:\n   0: /secret"), "no", id="the first line"),
        pytest.param(ValueError("\x1b[31mred"), "\\x1b[31mred", id="made printable"),
        pytest.param(PanicException("index out of range"), "the OpenPGP library gave up on it", id="a panic"),
    ],
)
def test_what_the_library_says(error: BaseException, words: str) -> None:
    def question() -> None:
        raise error

    with pytest.raises(UnusableError) as caught:
        call_sequoia(question)
    assert str(caught.value) == words


def test_an_interrupt_is_no_answer() -> None:
    def question() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call_sequoia(question)


def test_the_name_of_an_enumeration() -> None:
    from pysequoia.packet import HashAlgorithm

    assert enum_name(HashAlgorithm.SHA1) == "SHA1"


def test_an_answer_is_handed_on() -> None:
    assert call_sequoia(lambda: 42) == 42


def test_without_the_library_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysequoia", None)
    error = refusal(ToolMissingError, "tool-missing", import_sequoia)
    assert error.hint == "pip install 'getmodules[providers]'"
    signature, key = read("author.sig"), read("author.asc")
    refusal(ToolMissingError, "tool-missing", find_signer, SHASUMS, signature, [key], now=NOW)
