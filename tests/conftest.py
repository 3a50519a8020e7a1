"""What every test stands on: an environment that the tests chose, and hypothesis without a clock."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from getmodules.api.ports import Context
from getmodules.getters.oci import docker_config as authfiles
from getmodules.net.session import Session
from getmodules.plugins import entry_points
from getmodules.plugins.entry_points import EntryPoint
from getmodules.plugins.loader import GROUP
from tests.support.certificates import Authority, make_authority

# Two busy cores make any deadline for one example a matter of luck.
settings.register_profile("everywhere", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
# The gate tries the same examples each time; a developer's runs look for new ones.
settings.register_profile("gate", settings.get_profile("everywhere"), derandomize=True)
settings.load_profile("gate" if os.environ.get("CI") else "everywhere")

#: Settings of this machine that would change what is tested. ``GIT_`` also holds GIT_DIR, which a hook sets.
FOREIGN = ("GETMODULES_", "GIT_", "NO_COLOR", "FORCE_COLOR")
FOREIGN_EXACT = frozenset(
    {
        "ALL_PROXY",
        "CURL_CA_BUNDLE",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "NO_PROXY",
        "REQUESTS_CA_BUNDLE",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TF_CLI_CONFIG_FILE",
    }
)


# A shell starts what it puts into the background with these ignored, children inherit that, and what ignores an
# interrupt cannot show that it ends on one.
for _name in ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"):
    _signal = getattr(signal, _name, None)
    if _signal is not None and signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, signal.default_int_handler if _name == "SIGINT" else signal.SIG_DFL)


@pytest.fixture(autouse=True, scope="session")
def chosen_environment() -> Iterator[None]:
    """Nothing of the machine's own configuration reaches a test or a child that it starts."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(FOREIGN) or name.upper() in FOREIGN_EXACT:
                patch.delenv(name)
        # A cache that lived longer than one test would change what the next one sees.
        patch.setenv("GETMODULES_CACHE_DIR", "")
        # Whoever has logged in on this machine.
        patch.setattr(authfiles, "CONTAINERS_RUN_DIRECTORY", Path(os.devnull, "run"))
        yield


@pytest.fixture(autouse=True, scope="session")
def no_strangers() -> Iterator[None]:
    """Plugins that somebody installed beside getmodules are not found; those that a test adds are."""
    find = entry_points.find
    strangers = {entry for entry in find(GROUP) if entry.distribution != "getmodules"}

    def others(group: str, path: Iterable[str] | None = None) -> Iterator[EntryPoint]:
        return (entry for entry in find(group, path) if entry not in strangers)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry_points, "find", others)
        yield


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that fail are made again at once, and not after a pause."""
    pause = Session.pause

    def at_once(self: Session, attempt: int, wait: float | None, context: Context) -> None:
        pause(self, attempt, 0.0 if wait is None else wait, context)

    monkeypatch.setattr(Session, "pause", at_once)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """One for all: making it takes five runs of openssl, and nobody changes it."""
    return make_authority(tmp_path_factory.mktemp("authority"))
