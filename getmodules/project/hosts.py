"""Host settings of a manifest: how to reach hosts, which tokens they get, and their mirrors."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from getmodules.addresses.mirrors import Mirrors
from getmodules.addresses.url import check_url
from getmodules.api.ports import Origin, Progress
from getmodules.errors import AddressError, ConfigError
from getmodules.files.durable import shown_path
from getmodules.net.credentials import TOKEN_PREFIX, TOKEN_WORD, has_variable, variable_suffix
from getmodules.net.settings import NetSettings, shortest
from getmodules.pipeline.settings import Settings
from getmodules.project.names import MANIFEST_NAME
from getmodules.project.toml import TomlTable
from getmodules.util.redact import printable
from getmodules.util.values import field, replace, valueclass

#: What may come before ``TOKEN_`` and the host in the name of a variable: the last group is an underscore.
_BEFORE_TOKEN = re.compile(r"GETMODULES_(?:(?P<word>[A-Z0-9]+(?:_[A-Z0-9]+)*)_)?")
_DEFAULT_PORT = 443


@valueclass
class Host:
    """The settings of one ``[hosts."HOST"]``."""

    name: str
    ca_file: Path | None = None
    #: A certificate and its key in one file, or ``CERTIFICATE,KEY``.
    client_certificate: str | None = None
    plain_http: bool = False
    token_variable: str | None = None

    @property
    def own_variable(self) -> str:
        """The environment variable in which every command looks for this host's token."""
        return TOKEN_PREFIX + self.suffix

    @property
    def suffix(self) -> str:
        """``<host>``, as the names of variables have it."""
        url = check_url(f"https://{self.name}")
        return variable_suffix(Origin("https", url.host, url.port or _DEFAULT_PORT))


@valueclass
class HostSettings:
    """The tables ``[hosts]`` and ``[mirrors]`` of a manifest. Options and environment of the caller beat them."""

    hosts: tuple[Host, ...] = ()
    mirrors: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __bool__(self) -> bool:
        return bool(self.hosts or self.mirrors)

    def announce(self, environ: Mapping[str, str], progress: Progress) -> None:
        """Tell the user what the manifest, which somebody else may have written, decides about tokens and TLS."""
        for host in self.hosts:
            variable = host.token_variable
            if variable and (environ.get(variable) or environ.get(variable.upper())):
                progress.notice(host.name, f"{variable} is the token for {host.name}: {MANIFEST_NAME} says so")
            if host.plain_http:
                progress.notice(host.name, f"{host.name} is spoken to without TLS: {MANIFEST_NAME} says so")

    def applied(self, settings: Settings) -> Settings:
        """Return the client's settings with those of the manifest."""
        variables = {host.own_variable: host.token_variable for host in self.hosts if host.token_variable}
        return replace(settings, network=self.network(settings.network), token_variables=variables)

    def network(self, settings: NetSettings) -> NetSettings:
        """Return ``settings`` with those of the manifest added.

        Who wrote the manifest, or the lock, may want a host to be spoken to without TLS: by ``plain_http``, a mirror or
        an address with ``http``. That is no reason to let others read a credential, so only the caller's word counts.
        """
        authorities = {shortest(host.name): os.fspath(host.ca_file) for host in self.hosts if host.ca_file}
        certificates = {shortest(host.name): host.client_certificate for host in self.hosts if host.client_certificate}
        return replace(
            settings,
            ca_files={**authorities, **settings.ca_files},
            client_certificates={**certificates, **settings.client_certificates},
            plain_http=settings.plain_http | {shortest(host.name) for host in self.hosts if host.plain_http},
            credentials_in_clear=settings.plain_http,
            mirrors=Mirrors.of({**self.mirrors, **settings.mirrors.table}),
        )


def hosts_from(table: TomlTable, directory: Path) -> tuple[Host, ...]:
    """Read the table ``[hosts]``; relative files start at ``directory``."""
    return tuple(_host(name, below, directory) for name, below in table.entries())


def _host(name: str, table: TomlTable, directory: Path) -> Host:
    try:
        url = check_url(f"https://{name}")
    except AddressError:
        url = None
    if url is None or not url.host or url.userinfo or url.path or name != name.lower():
        table.refuse("", f"{printable(name, 80)!r} is not a host", "write HOST or HOST:PORT, in lower case")
    certificate, key = table.text("client_cert"), table.text("client_key")
    if key is not None and certificate is None:
        table.refuse("client_key", "has no client_cert beside it")
    authorities = table.text("ca_file")
    host = Host(
        name=name,
        ca_file=None if authorities is None else _file(authorities, "ca_file", table, directory),
        client_certificate=_pair(certificate, key, table, directory),
        plain_http=table.flag("plain_http"),
        token_variable=table.text("token_variable"),
    )
    table.finish()
    _check_variable(host, table)
    return host


def _pair(certificate: str | None, key: str | None, table: TomlTable, directory: Path) -> str | None:
    if certificate is None:
        return None
    files = [_file(certificate, "client_cert", table, directory)]
    if key is not None:
        files.append(_file(key, "client_key", table, directory))
    if any("," in os.fspath(file) for file in files):
        table.refuse("client_cert", "lies on a path with a comma, which cannot be used")
    return ",".join(map(os.fspath, files))


def _file(text: str, key: str, table: TomlTable, directory: Path) -> Path:
    """Return the path of a file that can be read; relative ones lie beside the manifest."""
    path = directory / text
    try:
        if not path.is_file():  # opening a fifo would block
            table.refuse(key, f"is not a file: {shown_path(path)}")
        with open(path, "rb"):
            return path
    except (OSError, ValueError) as error:
        table.refuse(key, f"cannot be read: {shown_path(path)}: {getattr(error, 'strerror', error)}")


def _check_variable(host: Host, table: TomlTable) -> None:
    """Refuse variables that are not named after this host: a manifest must not send any secret to any host."""
    name = host.token_variable
    if name is None:
        return
    if not has_variable(host.name):
        table.refuse(
            "token_variable",
            f"cannot be: with a _ in it, {host.name} has no variable of its own",
            "getmodules login stores a credential for it; ~/.netrc may have one as well",
        )
    before, _, after = name.partition(TOKEN_WORD)
    found = _BEFORE_TOKEN.fullmatch(before)
    if found is None or after not in (host.suffix, host.suffix.upper()):
        table.refuse(
            "token_variable",
            f"is {printable(name, 80)!r}, which does not say that it is for {host.name}",
            f"name it {_proposed(name, host)}: no manifest sends a secret away that is meant for others",
        )


def _proposed(name: str, host: Host) -> str:
    """Return the name to use, with the words of ``name`` where it has some: ``GETMODULES_ACME_TOKEN_ghcr_io``."""
    found = _BEFORE_TOKEN.match(name.partition(TOKEN_WORD)[0].removesuffix("_TOKEN") + "_")
    word = found["word"] if found is not None else None
    if word is None or word.endswith("TOKEN"):  # the host follows the first one
        return host.own_variable
    return f"GETMODULES_{word}_{TOKEN_WORD}{host.suffix}"


def mirrors_from(table: TomlTable) -> Mapping[str, str]:
    """Read the table ``[mirrors]``."""
    found = dict(table.strings())
    try:
        Mirrors.of(found)
    except ConfigError as error:
        raise ConfigError(f"{table.where}: {error.message}", hint=error.hint) from error.__cause__
    return found
