"""Refusals, looked at closely: the class and the code, and what the message says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from getmodules import GetModulesError

E = TypeVar("E", bound=GetModulesError)


def refusal(kind: type[E], code: str, function: Callable[..., Any], *arguments: Any, **more: Any) -> E:
    """The error of ``function(*arguments)``: exactly of ``kind``, with ``code``."""
    with pytest.raises(kind) as caught:
        function(*arguments, **more)
    error = caught.value
    assert type(error) is kind, f"{type(error).__name__}: {error}"
    assert error.code == code, f"{error.code}: {error}"
    assert error.message
    return error


def words_of(error: GetModulesError) -> str:
    """Everything that people get to see of an error."""
    return "\n".join(text for text in (error.message, error.hint, error.address, str(error)) if text)
