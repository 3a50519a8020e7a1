"""What handlers are given."""

from __future__ import annotations

import io

import pytest

from getmodules.testing.registry.access import EVERYTHING
from getmodules.testing.registry.call import Behaviour, Call
from getmodules.testing.registry.names import route
from getmodules.testing.registry.store import MemoryStore
from getmodules.testing.registry.wire import RefusalError, Request


def test_a_repository_is_made_by_who_pushes_and_not_by_who_reads() -> None:
    request = Request("GET", "/v2/a/tags/list", {}, io.BytesIO())
    call = Call(request, route(request.path), MemoryStore(), EVERYTHING, Behaviour())
    with pytest.raises(RefusalError) as caught:
        call.repository()
    assert caught.value.code == "NAME_UNKNOWN"
    assert call.new_repository() is call.repository()
    assert call.repository().name == call.name == "a"
    assert call.unsupported_method().status == 405
