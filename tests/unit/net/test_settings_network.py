"""The network of a client: one session, made late, and closed with the client or without anybody's help."""

from __future__ import annotations

import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from getmodules.api.http import Call
from getmodules.api.ports import Context
from getmodules.net.settings import ClientNetwork, NetSettings
from tests.support.contexts import a_context
from tests.support.servers import replying, serving


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return a_context(tmp_path)


ok = replying("200 OK", b"body")


def test_all_threads_get_one_session() -> None:
    network = ClientNetwork(NetSettings())
    with ThreadPoolExecutor(8) as pool:
        sessions = set(pool.map(lambda _: network.session(), range(32)))
    assert len(sessions) == 1


def test_a_session_has_the_settings_of_its_network() -> None:
    settings = NetSettings(retries=6)
    assert ClientNetwork(settings).session().settings is settings


def test_what_was_never_used_can_be_closed() -> None:
    ClientNetwork(NetSettings()).close()


def test_a_closed_network_ends_its_connections_and_makes_new_ones(context: Context) -> None:
    with serving(ok) as server:
        network = ClientNetwork(NetSettings())
        call = Call(method="GET", url=f"{server.url}/x")
        for _ in range(2):
            assert network.session().send(call, context).read() == b"body"
        assert server.connections == 1
        network.close()
        assert network.session().send(call, context).read() == b"body"
        assert server.connections == 2
        network.close()
        network.close()


def test_a_network_that_nobody_holds_any_more_leaves_no_socket(context: Context) -> None:
    """A socket that the garbage collector finds open is a ResourceWarning, which is an error here."""
    with serving(ok) as server:
        ClientNetwork(NetSettings()).session().send(Call(method="GET", url=server.url), context).read()
        gc.collect()


def test_requests_is_not_imported_before_somebody_wants_a_session() -> None:
    program = (
        "import sys\n"
        "from getmodules.net.settings import ClientNetwork\n"
        "from getmodules.net.settings import NetSettings\n"
        "network = ClientNetwork(NetSettings())\n"
        "assert 'requests' not in sys.modules and 'urllib3' not in sys.modules\n"
        "network.session()\n"
        "assert 'requests' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
