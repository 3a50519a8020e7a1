"""Which fault is on, for whom, and for how long."""

from __future__ import annotations

import threading

import pytest

from getmodules import ConfigError
from getmodules.testing import Registry
from tests.support.refusals import refusal
from tests.support.registryclient import ask, push_blob


def statuses(registry: Registry, count: int, target: str = "/v2/") -> list[int]:
    return [ask(registry, "GET", target).status for _ in range(count)]


def test_for_so_many_requests(registry: Registry) -> None:
    armed = registry.fault("503", times=2)
    assert statuses(registry, 4) == [503, 503, 200, 200]
    assert armed.used == 2


def test_until_it_is_ended(registry: Registry) -> None:
    with registry.fault("503") as armed:
        assert statuses(registry, 3) == [503, 503, 503]
    assert statuses(registry, 1) == [200]
    assert armed.used == 3
    registry.fault("503")
    registry.behave()
    assert statuses(registry, 1) == [200]


def test_only_for_what_it_is_about(registry: Registry) -> None:
    digest = push_blob(registry, "a", b"data")
    armed = registry.fault("missing-blob", times=1)
    assert statuses(registry, 1) == [200]
    assert ask(registry, "HEAD", f"/v2/a/blobs/{digest}").status == 200
    assert statuses(registry, 2, f"/v2/a/blobs/{digest}") == [404, 200]
    assert armed.used == 1


def test_only_for_requests_of_a_kind(registry: Registry) -> None:
    digest = push_blob(registry, "a", b"data")
    registry.fault("503", on="blob")
    assert statuses(registry, 1) == [200]
    assert statuses(registry, 2, f"/v2/a/blobs/{digest}") == [503, 503]


def test_one_at_a_time(registry: Registry) -> None:
    first = registry.fault("503")
    second = registry.fault("500")
    assert statuses(registry, 1) == [500]
    first.end()
    assert statuses(registry, 1) == [500]
    second.end()
    assert (statuses(registry, 1), first.used, second.used) == ([200], 0, 2)


def test_so_many_however_many_ask_at_once(registry: Registry) -> None:
    armed = registry.fault("503", times=5)
    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.extend(statuses(registry, 5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sorted(seen), armed.used) == ([200] * 15 + [503] * 5, 5)


def test_where_hostile_answers_point(registry: Registry) -> None:
    digest = push_blob(registry, "a", b"data")
    for to, expected in ((None, "https://elsewhere.invalid"), ("http://127.0.0.2:5/", "http://127.0.0.2:5")):
        with registry.fault("redirect-elsewhere", to=to):
            reply = ask(registry, "GET", f"/v2/a/blobs/{digest}")
            assert reply.header("Location") == f"{expected}/v2/a/blobs/{digest}"


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("no-such-fault", {}, "no-such-fault"),
        ("503", {"times": 0}, "0"),
        ("503", {"times": -1}, "-1"),
        ("503", {"on": "everything"}, "everything"),
    ],
)
def test_what_cannot_be_armed(registry: Registry, name: str, more: dict[str, object], said: str) -> None:
    assert said in refusal(ConfigError, "config", registry.fault, name, **more).message
    assert statuses(registry, 1) == [200]
