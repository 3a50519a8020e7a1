"""How each registry is reached: which scheme, which host, which credentials. What is found out is remembered."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from getmodules.api.ports import Context, Credential, Origin

if TYPE_CHECKING:
    from getmodules.api.http import HttpSession
    from getmodules.getters.oci.auth import Tokens
    from getmodules.getters.oci.client import RegistryClient
    from getmodules.getters.oci.docker_config import DockerCredentials


_log = logging.getLogger("getmodules")
#: The name that people type comes first.
_DOCKER_HUB = ("docker.io", "index.docker.io", "registry-1.docker.io")
_DOCKER_API = "registry-1.docker.io"
#: A registry that warns of something else each time is not listened to for ever.
_MOST_NOTICES = 20
#: How long a loopback port may stay silent before it is taken for one that does not speak TLS.
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
        """A registry repeats its warning with each answer; people want to read it once."""
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
        """Environment and plugins first, then the files that docker, podman and oras share."""
        for host in _DOCKER_HUB if registry.host in _DOCKER_HUB else (registry.host,):
            found = context.credentials(registry._replace(host=host), f"/{repository}")
            if found is not None:
                break
        else:
            found = self.files(context).lookup(registry_name(registry), repository)
        _log.debug("credential for %s: %s", registry_name(registry), f"from {found.found_in}" if found else "none")
        return found

    def files(self, context: Context) -> DockerCredentials:
        """One for all, since it remembers what files and helpers said."""
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
                return "http"  # not remembered: what starts up there in a moment may well speak TLS
            with self._lock:
                self._schemes[registry] = known
        return known


def registry_name(origin: Origin) -> str:
    """As credential files spell it: with its port only where that is not the scheme's own."""
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    return host if origin.port == {"http": 80, "https": 443}[origin.scheme] else f"{host}:{origin.port}"


def _has_port(registry: str) -> bool:
    return ":" in registry.rpartition("]")[2]


def _scheme_of(host: str, port: int | None, session: HttpSession) -> str:
    if session.settings.allows_plain_http(host, port or 80):
        return "http"
    # Anywhere else, plain http is somebody's explicit choice.
    return "https" if not is_loopback(host) or speaks_tls(host, port or 443) else "http"


def is_loopback(host: str) -> bool:
    import ipaddress

    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def speaks_tls(host: str, port: int) -> bool:
    """Whether what answers there is TLS, with whatever certificate: that is judged later, and never excused.

    Raises ``ConnectionRefusedError`` where nobody answers.
    """
    import socket
    import ssl

    # Not the default context: it reads all authorities of the system, to no purpose here.
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


def api_location(registry: str, repository: str) -> tuple[str, str]:
    """Docker Hub's API is elsewhere than its name says, and its own images have a first name that nobody types.

    No repository means the registry itself.
    """
    if registry in _DOCKER_HUB:
        return _DOCKER_API, repository if "/" in repository or not repository else f"library/{repository}"
    return registry, repository
