"""The registries of one client: their schemes, hosts and credentials, which are remembered."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, proxy

from getmodules.addresses.comparison import DOCKER_HUB
from getmodules.addresses.coverage import api_location
from getmodules.api.ports import Context, Credential, Origin
from getmodules.net.address_check import is_loopback
from getmodules.net.credentials import TOKEN_PREFIX, has_variable, variable_suffix

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


class _Remembered:
    """The schemes of registries, and their tokens, as the settings of one session have them."""

    def __init__(self, tokens: Tokens) -> None:
        self.schemes: dict[str, str] = {}
        self.tokens = tokens


class Registries:
    """The registries of one client: a :data:`~getmodules.getters.oci.repository.RepositoryFactory`.

    Each session has its own memory: a project's hosts may be reached in another way than those of the client.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: WeakKeyDictionary[HttpSession, _Remembered] = WeakKeyDictionary()
        self._files: DockerCredentials | None = None
        self._said: set[str] = set()

    def __call__(self, registry: str, repository: str, context: Context) -> RegistryClient:
        from getmodules.getters.oci.client import RegistryClient

        session = context.network.session()
        registry, repository = api_location(registry, repository)
        remembered = self._of(session)
        api = f"{self._scheme(registry, session, remembered.schemes)}://{registry}"
        notice = partial(self._say_once, context.notice)
        return RegistryClient(api, repository, session, remembered.tokens, notice)

    def _say_once(self, notice: Callable[[str], None], message: str) -> None:
        """Show a warning once: a registry repeats it with each answer."""
        with self._lock:
            if message in self._said or len(self._said) >= _MOST_NOTICES:
                return
            self._said.add(message)
        notice(message)

    def _of(self, session: HttpSession) -> _Remembered:
        from getmodules.getters.oci.auth import Tokens

        with self._lock:
            found = self._sessions.get(session)
            if found is None:
                # Not the session itself: an entry whose value knows its key is never collected.
                tokens = Tokens(proxy(session), self.find_credential, self.places)
                found = self._sessions[session] = _Remembered(tokens)
            return found

    def find_credential(self, registry: Origin, repository: str, context: Context) -> Credential | None:
        """Return the credential from the environment or a plugin, or else from the files of docker, podman and oras."""
        for host in _names(registry):
            found = context.credentials(registry._replace(host=host), f"/{repository}")
            if found is not None:
                break
        else:
            found = self.files(context).lookup(registry_name(registry), repository)
        _log.debug("credential for %s: %s", registry_name(registry), f"from {found.found_in}" if found else "none")
        return found

    def places(self, registry: Origin, repository: str, context: Context) -> tuple[str, ...]:
        """Return the places in which :meth:`find_credential` looks, with what kept it from using one."""
        usual = registry._replace(host=_names(registry)[0])
        variables = (TOKEN_PREFIX + variable_suffix(usual),) if has_variable(usual.host) else ()
        explained = self.files(context).explain(registry_name(registry), repository)
        considered = tuple(
            each.where if each.outcome in ("used", "empty") else f"{each.where} ({each.outcome})"
            for each in explained.considered
        )
        return (*variables, *considered, *explained.files)

    def files(self, context: Context) -> DockerCredentials:
        """Return the credential files and helpers, one object for all registries, since it caches them."""
        from getmodules.getters.oci.docker_config import DockerCredentials

        with self._lock:
            if self._files is None:
                self._files = DockerCredentials(context.environ, warn=partial(_log.warning, "%s"))
            return self._files

    def _scheme(self, registry: str, session: HttpSession, schemes: dict[str, str]) -> str:
        with self._lock:
            known = schemes.get(registry)
        if known is None:
            host, _, port = registry.rpartition(":") if _has_port(registry) else (registry, "", "")
            try:
                known = _scheme_of(host.strip("[]"), int(port) if port else None, session)
            except ConnectionRefusedError:
                return "http"  # not remembered: a server that starts there later may speak TLS
            with self._lock:
                schemes[registry] = known
        return known


def _names(registry: Origin) -> tuple[str, ...]:
    """Return the names of a registry's host, of which Docker Hub has several."""
    return DOCKER_HUB if registry.host in DOCKER_HUB else (registry.host,)


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


def speaks_tls(host: str, port: int) -> bool:
    """Return whether a port speaks TLS, with any certificate: that is checked by the request itself.

    Raises ``ConnectionRefusedError`` if nothing listens there.
    """
    import socket
    import ssl

    # It may take a while, before the first request.
    _log.debug("asking %s:%d whether it speaks TLS", host, port)
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
