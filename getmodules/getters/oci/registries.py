"""The registries of one client: their schemes, hosts and credentials, which are remembered."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from getmodules.addresses.comparison import DOCKER_HUB
from getmodules.addresses.coverage import api_location
from getmodules.api.ports import Context, Credential, Origin

if TYPE_CHECKING:
    from getmodules.api.http import HttpSession
    from getmodules.getters.oci.auth import Tokens
    from getmodules.getters.oci.client import RegistryClient
    from getmodules.getters.oci.docker_config import DockerCredentials


_log = logging.getLogger("getmodules")
#: The most warnings that are shown, for registries that send a different one each time.
_MOST_NOTICES = 20
#: How long a loopback port may be silent before it counts as one without TLS.
_PROBE_SECONDS = 2.0


class Registries:
    """The registries of one client: a :data:`~getmodules.getters.oci.repository.RepositoryFactory`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._schemes: dict[str, str] = {}
        self._tokens: Tokens | None = None
        self._files: DockerCredentials | None = None
        self._said: set[str] = set()

    def __call__(self, registry: str, repository: str, context: Context) -> RegistryClient:
        from getmodules.getters.oci.client import RegistryClient

        session = context.network.session()
        registry, repository = api_location(registry, repository)
        api = f"{self._scheme(registry, session)}://{registry}"
        notice = partial(self._say_once, context.notice)
        return RegistryClient(api, repository, session, self._tokens_of(session), notice)

    def _say_once(self, notice: Callable[[str], None], message: str) -> None:
        """Show a warning once: a registry repeats it with each answer."""
        with self._lock:
            if message in self._said or len(self._said) >= _MOST_NOTICES:
                return
            self._said.add(message)
        notice(message)

    def _tokens_of(self, session: HttpSession) -> Tokens:
        from getmodules.getters.oci.auth import Tokens

        with self._lock:
            if self._tokens is None:
                self._tokens = Tokens(session, self.find_credential)
            return self._tokens

    def find_credential(self, registry: Origin, repository: str, context: Context) -> Credential | None:
        """Return the credential from the environment or a plugin, or else from the files of docker, podman and oras."""
        for host in DOCKER_HUB if registry.host in DOCKER_HUB else (registry.host,):
            found = context.credentials(registry._replace(host=host), f"/{repository}")
            if found is not None:
                break
        else:
            found = self.files(context).lookup(registry_name(registry), repository)
        _log.debug("credential for %s: %s", registry_name(registry), f"from {found.found_in}" if found else "none")
        return found

    def files(self, context: Context) -> DockerCredentials:
        """Return the credential files and helpers, one object for all registries, since it caches them."""
        from getmodules.getters.oci.docker_config import DockerCredentials

        with self._lock:
            if self._files is None:
                self._files = DockerCredentials(context.environ, warn=partial(_log.warning, "%s"))
            return self._files

    def _scheme(self, registry: str, session: HttpSession) -> str:
        with self._lock:
            known = self._schemes.get(registry)
        if known is None:
            host, _, port = registry.rpartition(":") if _has_port(registry) else (registry, "", "")
            try:
                known = _scheme_of(host.strip("[]"), int(port) if port else None, session)
            except ConnectionRefusedError:
                return "http"  # not remembered: a server that starts there later may speak TLS
            with self._lock:
                self._schemes[registry] = known
        return known


def registry_name(origin: Origin) -> str:
    """Return the name of a registry in credential files: without the default port of its scheme."""
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    return host if origin.port == {"http": 80, "https": 443}[origin.scheme] else f"{host}:{origin.port}"


def _has_port(registry: str) -> bool:
    return ":" in registry.rpartition("]")[2]


def _scheme_of(host: str, port: int | None, session: HttpSession) -> str:
    if session.settings.allows_plain_http(host, port or 80):
        return "http"
    # For all hosts but loopback, plain http is the user's explicit choice.
    return "https" if not is_loopback(host) or speaks_tls(host, port or 443) else "http"


def is_loopback(host: str) -> bool:
    import ipaddress

    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def speaks_tls(host: str, port: int) -> bool:
    """Return whether a port speaks TLS, with any certificate: that is checked by the request itself.

    Raises ``ConnectionRefusedError`` if nothing listens there.
    """
    import socket
    import ssl

    # The default context would read all authorities of the system, which are not needed here.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, port), _PROBE_SECONDS) as connection,
            context.wrap_socket(connection, server_hostname=host),
        ):
            return True
    except ssl.SSLError as error:
        # A server that wants a client certificate, or another version, speaks TLS; one that sends other bytes does not.
        return error.reason not in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_EOF_WHILE_READING", None)
    except ConnectionRefusedError:
        raise
    except OSError:
        return False
