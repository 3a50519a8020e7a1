"""How far in the host of a repository may be, and that git is told where it is."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from getmodules import InstallError, NetworkError, UnsafeContentError
from getmodules.addresses.url import check_url
from getmodules.api.limits import Deadline
from getmodules.getters.git.host_check import CheckedHost, check_host, too_far_in
from getmodules.getters.git.remote import Remote
from getmodules.net.address_check import address_check_for_class
from getmodules.net.settings import ClientNetwork, NetSettings
from tests.support.gitstores import a_git
from tests.support.refusals import refusal

#: Nobody can have this address; should a check be missing, the system refuses to connect.
RESERVED = "240.0.0.1"
PROXIED = NetSettings(proxies={"http": "http://127.0.0.1:1", "https": "http://127.0.0.1:1"})


def found(
    url: str, tmp_path: Path, *, from_kind: str | None = "", settings: NetSettings | None = None, config: str = ""
) -> CheckedHost:
    """As when a server in a network of the kind ``from_kind`` has named ``url``; as typed, where that is empty."""
    (tmp_path / ".gitconfig").write_text(config, encoding="ascii")
    more: dict[str, Any] = {"network": ClientNetwork(settings or NetSettings())}
    if from_kind != "":
        more["check_address"] = address_check_for_class(
            from_kind, lambda kind, address: too_far_in("lib", kind, address)
        )
    git = a_git(tmp_path, **more)
    environ = {**git.context.environ, "HOME": str(tmp_path)}
    git = a_git(tmp_path, **{**more, "environ": environ})
    return check_host(Remote(check_url(url)), git, tmp_path)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/r",
        "https://localhost:1/r",
        "http://[::1]/r",
        "http://[::ffff:127.0.0.1]/r",
        "ssh://git@127.0.0.1/r",
        "git://127.0.0.1/r",
        f"http://{RESERVED}/r",
        "http://169.254.169.254/latest",
        "http://10.0.0.1/r",
    ],
)
@pytest.mark.parametrize("from_kind", ["public", None], ids=["from a public one", "from who knows where"])
def test_no_server_may_lead_further_in(url: str, from_kind: str | None, tmp_path: Path) -> None:
    refusal(UnsafeContentError, "unsafe-content/elsewhere", found, url, tmp_path, from_kind=from_kind)


@pytest.mark.parametrize(
    ("url", "from_kind"),
    [
        pytest.param("http://127.0.0.1/r", "", id="typed"),
        pytest.param("http://127.0.0.1/r", "loopback", id="as far in"),
        pytest.param("http://8.8.8.8/r", "loopback", id="further out"),
        pytest.param("https://8.8.8.8/r", None, id="public, from who knows where"),
    ],
)
def test_where_one_may_go(url: str, from_kind: str | None, tmp_path: Path) -> None:
    kind = "public" if "8.8.8.8" in url else "loopback"
    assert found(url, tmp_path, from_kind=from_kind) == CheckedHost(kind)


def test_git_connects_to_what_was_looked_at(tmp_path: Path) -> None:
    ((name, value),) = found("http://localhost:8080/r", tmp_path).settings
    assert name == "http.curloptResolve"
    assert value.startswith("localhost:8080:")
    assert set(value.removeprefix("localhost:8080:").split(",")) <= {"127.0.0.1", "[::1]"}
    assert found("ssh://localhost/r", tmp_path).settings == ()


def test_a_name_that_nobody_knows(tmp_path: Path) -> None:
    """It might have an address a moment later, when it is git that looks. ssh has names of its own."""
    assert found("https://nobody.invalid/r", tmp_path) == CheckedHost()
    assert found("ssh://nobody.invalid/r", tmp_path, from_kind="public") == CheckedHost()
    refusal(NetworkError, "network", found, "https://nobody.invalid/r", tmp_path, from_kind="public")


@pytest.mark.parametrize(
    ("url", "config"),
    [
        pytest.param("http://127.0.0.1/r", '[url "http://10.1.1.1/"]\ninsteadOf = http://127.0.0.1/\n', id="insteadOf"),
        pytest.param("https://nobody.invalid/r", "[http]\n\tproxy = http://127.0.0.1:1\n", id="a proxy of git's"),
    ],
)  # fmt: skip
def test_the_users_own_configuration_leads_anywhere(url: str, config: str, tmp_path: Path) -> None:
    assert found(url, tmp_path, from_kind="public", config=config) == CheckedHost()


def test_a_proxy_that_only_git_can_use(tmp_path: Path) -> None:
    socks = NetSettings(proxies={"https": "socks5h://127.0.0.1:1"})
    assert found("https://nobody.invalid/r", tmp_path, from_kind="public", settings=socks) == CheckedHost()


def test_behind_a_proxy_names_are_the_proxys(tmp_path: Path) -> None:
    assert found("https://nobody.invalid/r", tmp_path, from_kind=None, settings=PROXIED) == CheckedHost()
    for host in ("169.254.169.254", "localhost", "a.localhost", "localhost."):
        url = f"http://{host}/r"
        refusal(UnsafeContentError, "unsafe-content/elsewhere", found, url, tmp_path, from_kind=None, settings=PROXIED)


@pytest.mark.parametrize("end", ["deadline", "cancelled"])
def test_a_silent_name_server_is_not_waited_for_for_long(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()

    def silent(*_: object, **__: object) -> list[object]:
        answered.wait(20)
        return []

    monkeypatch.setattr("getmodules.net.connecting.socket.getaddrinfo", silent)
    more: dict[str, Any] = {"network": ClientNetwork(NetSettings())}
    if end == "deadline":
        more["deadline"] = Deadline.after(0.2)
    git = a_git(tmp_path, **more)
    if end == "cancelled":
        threading.Timer(0.2, git.context.cancelled.set).start()
    kind, code = (NetworkError, "network/timeout") if end == "deadline" else (InstallError, "install/cancelled")
    start = time.monotonic()
    refusal(kind, code, check_host, Remote(check_url("https://h.example/r")), git, tmp_path)
    assert time.monotonic() - start < 10
    answered.set()


def test_a_rule_that_is_not_followed_opens_nothing(tmp_path: Path) -> None:
    """A login that stands in the address is not replaced by a rule, so a rule is no reason to go there either."""
    rule = f'[url "http://elsewhere.example/"]\n\tinsteadOf = http://{RESERVED}/\n'
    assert found(f"http://{RESERVED}/r", tmp_path, from_kind="public", config=rule) == CheckedHost()
    code = "unsafe-content/elsewhere"
    url = f"http://u:p@{RESERVED}/r"
    refusal(UnsafeContentError, code, found, url, tmp_path, from_kind="public", config=rule)
