"""The settings and variables with which git reaches one remote: transports, login, certificates, keys, redirects.

Credentials are bound to one origin. They are in variables that a one-line helper reads, never in a command line. git
asks helpers again for each host that it is sent to, and ours is configured for one origin only; a header
(``http.extraHeader``) would be sent to any host after a redirect.

For an https address that the user wrote, git follows redirects itself, to https only. In all other cases we follow
them, because git would connect first, and we must check the address before.
"""

from __future__ import annotations

import base64
import logging
import math
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, Unpack
from urllib.parse import unquote

from getmodules.addresses.url import check_url
from getmodules.api.ports import Context, Credential
from getmodules.errors import (
    AddressError,
    AuthenticationError,
    NetworkError,
    OfflineError,
    RateLimitedError,
    SentCredential,
    UnsafeContentError,
)
from getmodules.files.opening import NEW
from getmodules.files.os_errors import translated
from getmodules.getters.git.environment import connecting, environment
from getmodules.getters.git.errors import SSHKEY, FailedCommand, git_error, may_pass
from getmodules.getters.git.host_check import CheckedHost, check_host
from getmodules.getters.git.process import Done, Git, ProcessLimits, RunOptions
from getmodules.getters.git.remote import TRANSPORTS, Remote, parse_location
from getmodules.getters.git.rewriting import leads_to_ssh, remote_url_settings, rewritten, with_own_login
from getmodules.net.address_check import address_check_for_class
from getmodules.net.credentials import (
    TOKEN_PREFIX,
    basic,
    entry_in_home,
    is_overheard,
    sent_credential,
    shown_username,
    variable_suffix,
)
from getmodules.net.refusals import in_clear, shown_origin
from getmodules.net.route import host_and_port, sent_by
from getmodules.net.watch import NOTE_SECONDS, tell_silence
from getmodules.util.redact import Secret, printable
from getmodules.util.values import field, replace, valueclass

_log = logging.getLogger("getmodules")
_LOCAL: Final = "file"
#: How long git may say nothing about a repository on this machine.
_LOCAL_SECONDS: Final = 60.0
#: The transports that a redirect may lead to. The user's own ``insteadOf`` may lead to any that we know.
_REDIRECTS: Final = {"http": ("http", "https"), "https": ("https",)}
_SSH_OPTIONS: Final = (
    # ssh never prompts, and trusts no unknown host key.
    *("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"),
    # A shared connection is used if there is one, and none is opened.
    *("-o", "ControlMaster=no"),
)
_SSH = re.compile(r"""(?:"[^"]*ssh(?:\.exe)?"|'[^']*ssh(?:\.exe)?'|[^\s"']*ssh(?:\.exe)?)(?=\s|$)""", re.IGNORECASE)
_KEY_PREFIX: Final = "key-"


@valueclass
class Connection:
    """The way to one remote, for any number of git commands."""

    remote: Remote
    directory: Path
    timeout: float
    #: How often a command is run again that failed for a reason that may pass.
    retries: int
    #: The kind of network that the host is in, if it is known.
    kind: str | None
    _environ: Mapping[str, str] = field(repr=False)
    _login: GitLogin = field(repr=False)
    _settings: tuple[tuple[str, str], ...] = field(repr=False)
    _variables: Mapping[str, str] = field(repr=False)
    #: How we came to the host, for messages.
    _way: str = ""

    def environment(self, repository: Path, more: tuple[tuple[str, str], ...] = ()) -> dict[str, str]:
        return connecting(
            environment(
                self._environ,
                repository,
                settings=(*_transports(self.remote), *self._settings, *self._login.settings, *more),
                more={**self._variables, **self._login.variables},
            )
        )

    def run(
        self,
        git: Git,
        arguments: Sequence[str],
        repository: Path,
        more: tuple[tuple[str, str], ...] = (),
        **options: Unpack[RunOptions],
    ) -> Done:
        """Run ``git`` against the remote, or the one that it redirects to; again after a failure that may pass."""
        tries = self.retries + 1
        for attempt in range(1, tries + 1):
            _log.debug("git %s %s, try %d of %d", arguments[0], self.remote.shown, attempt, tries)
            try:
                done = self._run_once(git, arguments, repository, more, **options)
                if done.code == 0 or attempt == tries:
                    return done
                failure = git_error(done.said, self.failed_command(f"git {arguments[0]}", done))
                if not may_pass(failure):
                    return done
            except NetworkError as error:  # git was silent, and was ended
                if attempt == tries or not error.retryable or git.context.deadline.remaining() <= 0:
                    raise
                failure = error
            _log.debug("try %d of %d failed: %s", attempt, tries, failure)
            git.context.network.session().pause(attempt, None, git.context)
        raise AssertionError("the last try returns or raises")

    def _run_once(
        self,
        git: Git,
        arguments: Sequence[str],
        repository: Path,
        more: tuple[tuple[str, str], ...],
        **options: Unpack[RunOptions],
    ) -> Done:
        done = git.run(arguments, self.environment(repository, more), **options)._replace(place=self._place)
        if done.code != 0 and self._login.otherwise is not None and knows_no_password(done.said):
            return replace(self, _login=self._login.otherwise)._run_once(git, arguments, repository, more, **options)
        if done.code == 0 or not (we_follow_redirects(self.remote, git.context) and was_redirected(done.said)):
            return done
        target = redirect_target(self.remote, self._offered.authorization, git.context)
        if target is None:
            return done
        check = address_check_for_class(self.kind, partial(_too_far_in, self.remote.shown))
        there = Git(replace(git.context, check_address=check, way=sent_by(self.remote.location)))
        with connected(target, there, self.directory) as connection:
            if (limits := options.get("limits")) is not None:
                options["limits"] = connection.process_limits(there.context, limits.measure)
            found = there.run(arguments, connection.environment(repository, more), **options)
            return found._replace(place=connection._place)

    @property
    def _place(self) -> str:
        """The host and port, and who sent us there; empty for a repository on this machine."""
        if self.remote.scheme == _LOCAL:
            return ""
        place = host_and_port(self.remote.origin.host.strip("[]"), self.remote.origin.port)
        return f"{place}, {self._way}" if self._way else place

    @property
    def _offered(self) -> GitLogin:
        return self._login.otherwise or self._login

    def process_limits(self, context: Context, measure: Callable[[], int] = int) -> ProcessLimits:
        if self.remote.scheme == _LOCAL:
            return ProcessLimits(measure, self.timeout)
        server = self._place.partition(",")[0]
        return ProcessLimits(
            measure,
            self.timeout,
            place=f"waiting for the answer of {self._place}",
            tell_silence=partial(tell_silence, context, server, NOTE_SECONDS, self.timeout),
        )

    def failed_command(self, what: str, done: Done | None = None) -> FailedCommand:
        """Return the command ``what``, for its error; ``done`` is its result, if it has one."""
        variable = TOKEN_PREFIX + variable_suffix(self.remote.origin) if self.remote.is_web else None
        login = self._offered
        offered = login.offered or (SSHKEY if self.remote.sshkey is not None else None)
        place = self._place if done is None else done.place
        return FailedCommand(
            f"{what} {self.remote.shown}", offered, variable, login.username, login.withheld_from, place
        )


@contextmanager
def connected(remote: Remote, git: Git, directory: Path) -> Iterator[Connection]:
    """Open a connection; ``directory`` is private, since the key of the address is in it meanwhile."""
    try:
        with _open_connection(remote, git, directory) as connection:
            yield connection
    except (NetworkError, AuthenticationError, RateLimitedError) as error:
        raise error.failing_at(printable(remote.shown_host)) from error.__cause__


@contextmanager
def _open_connection(remote: Remote, git: Git, directory: Path) -> Iterator[Connection]:
    variables: dict[str, str] = {}
    context = git.context
    timeout, retries = _LOCAL_SECONDS, 0
    if context.offline and (remote.scheme != _LOCAL or rewritten(remote, git, directory) != remote.location):
        raise OfflineError(
            "the repository is not in the cache, or not all that is needed of it", hint="run it once without --offline"
        )
    if context.address_gate is not None and (address := rewritten(remote, git, directory)) != remote.location:
        _admit_rewritten(address, remote, context)
    found = CheckedHost() if remote.scheme == _LOCAL else check_host(remote, git, directory)
    typed, remote = remote, with_own_login(remote, git, directory)
    settings: list[tuple[str, str]] = [*found.settings, *remote_url_settings(remote)]
    if remote.scheme != _LOCAL:
        network = context.network.settings
        timeout, retries = network.timeout, network.retries
        # git counts in whole seconds; it ends a transfer that is slower than this.
        settings += [("http.lowSpeedLimit", "1024"), ("http.lowSpeedTime", str(math.ceil(network.timeout)))]
        if we_follow_redirects(remote, context):
            settings.append(("http.followRedirects", "false"))
        if remote.is_web:
            origin = remote.origin
            _add_certificates(remote, network.ca_for(origin.host, origin.port), context.environ, variables)
            settings += _client_certificate(remote, network.client_certificate_for(origin.host, origin.port))
    with _key_file(remote, directory) as key:
        if remote.scheme != _LOCAL:
            variables["GIT_SSH_COMMAND"] = _ssh_command(remote, git, directory, key)
        yield Connection(
            remote=remote,
            directory=directory,
            timeout=timeout,
            retries=retries,
            kind=found.kind,
            _environ=context.environ,
            _login=(
                login_without_credentials(remote, context)
                if is_in_clear(typed, git, directory)
                else login_for(remote, context, is_typed=remote is typed)
            ),
            _settings=tuple(settings),
            _variables=variables,
            _way=context.way,
        )


def _admit_rewritten(address: str, remote: Remote, context: Context) -> None:
    """Ask the gate about the address that a rule in git's configuration (``insteadOf``) makes of another one."""
    try:
        target = Remote(parse_location(address))
    except AddressError as error:
        raise UnsafeContentError(
            f"git's configuration replaces {remote.shown} by an address that no policy can judge: {error.message}",
            part="elsewhere",
        ) from None
    context.admit(target.address)


def _too_far_in(remote: str, kind: str, address: str) -> UnsafeContentError:
    return UnsafeContentError(
        f"{remote} redirects to the {kind} address {address}, which is further in than it is known to be",
        part="elsewhere",
    )


def _transports(remote: Remote) -> list[tuple[str, str]]:
    redirects = _REDIRECTS.get(remote.scheme, ())
    each = [(f"protocol.{name}.allow", "always" if name in redirects else "user") for name in TRANSPORTS]
    # Each by name, since a user's setting for one of them would override the one for all.
    return [("protocol.allow", "never"), *((f"protocol.{name}.allow", "never") for name in ("ext", "fd")), *each]


def _add_certificates(remote: Remote, ours: str | None, environ: Mapping[str, str], variables: dict[str, str]) -> None:
    path = ours or environ.get("GIT_SSL_CAINFO")
    if path and remote.scheme == "https":
        variables["GIT_SSL_CAPATH" if os.path.isdir(path) else "GIT_SSL_CAINFO"] = path


def _client_certificate(remote: Remote, found: str | tuple[str, str] | None) -> list[tuple[str, str]]:
    if found is None or remote.scheme != "https":
        return []
    certificate, key = (found, found) if isinstance(found, str) else found
    base = str(remote.url._replace(userinfo="", path="/"))
    return [(f"http.{base}.sslCert", certificate), (f"http.{base}.sslKey", key)]


# ---------------------------------------------------------------------------------------------------------------- ssh


def _ssh_command(remote: Remote, git: Git, directory: Path, key: Path | None) -> str:
    """Return the user's ssh command with our options right behind the program: of each, ssh takes the first."""
    own = git.context.environ.get("GIT_SSH_COMMAND", "").strip()
    # This matters for an https address, too, since ``insteadOf`` may lead to ssh.
    own = own or (_configured_ssh(git, directory) if leads_to_ssh(remote, git, directory) else "") or "ssh"
    if os.path.basename(own.split()[0]).lower().removesuffix(".exe") in ("plink", "tortoiseplink"):
        return f"{own} -batch"
    options = [*_SSH_OPTIONS, "-o", f"ConnectTimeout={math.ceil(git.context.network.settings.connecting)}"]
    if key is not None:
        options += ["-i", str(key), "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none"]
    program = _SSH.match(own)
    end = program.end() if program else len(own)
    return f"{own[:end]} {shlex.join(options)}{own[end:]}"


def _configured_ssh(git: Git, directory: Path) -> str:
    done = git.run(["config", "--get", "core.sshCommand"], environment(git.context.environ, directory))
    return os.fsdecode(done.output).strip()


@contextmanager
def _key_file(remote: Remote, directory: Path) -> Iterator[Path | None]:
    """Write the key of ``sshkey=`` to a file that only its owner can read, as ssh wants it, and remove it."""
    if remote.sshkey is None:
        yield None
        return
    sweep_keys(directory)
    # ssh wants Unix line ends, also after the last line.
    text = base64.b64decode(remote.sshkey).replace(b"\r\n", b"\n").rstrip(b"\n") + b"\n"
    path = directory / f"{_KEY_PREFIX}{os.urandom(8).hex()}"
    with translated("cannot keep the key of the address in a private file"):
        fd = os.open(path, os.O_WRONLY | NEW, 0o600)
        try:
            with os.fdopen(fd, "wb") as stream:
                stream.write(text)
            yield path
        finally:
            path.unlink(missing_ok=True)


def sweep_keys(directory: Path) -> None:
    """Remove the keys that killed processes left. The caller is alone in the directory."""
    with translated("cannot clean up a working directory"):
        for path in directory.glob(f"{_KEY_PREFIX}*"):
            path.unlink(missing_ok=True)


# -------------------------------------------------------------------------------------------------------------- login


_USER: Final = "GETMODULES_GIT_USERNAME"
_PASSWORD: Final = "GETMODULES_GIT_PASSWORD"
#: ``printf`` is a builtin of the shell, so the password does not appear in a list of processes.
_HELPER: Final = f'!f() {{ test "$1" = get && printf "username=%s\\npassword=%s\\n" "${_USER}" "${_PASSWORD}"; }}; f'
#: The user name for a token without one. Most forges take any name; these want their own.
_TOKEN_USERS: Final = {"gitlab.com": "oauth2", "bitbucket.org": "x-token-auth"}
_TOKEN_USER: Final = "x-access-token"


@valueclass(kw_only=False)
class GitLogin:
    """The login of a git process: settings, and variables with secrets."""

    settings: tuple[tuple[str, str], ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: The source of the credential, if it is one of ours.
    offered: str | None = None
    #: Its user name, for messages.
    username: str | None = None
    #: The host that must get no credentials, as ``--plain-http`` names it.
    withheld_from: str | None = None
    #: The login to try next if no helper knows a password.
    otherwise: GitLogin | None = None

    @property
    def authorization(self) -> str | None:
        """Return the login as a header, for our own requests to that origin."""
        return basic(self.variables[_USER], Secret(self.variables[_PASSWORD])) if self.variables else None


def knows_no_password(said: str) -> bool:
    """Return whether git would have had to prompt for the password of a known user."""
    return "could not read Password" in said


def login_for(remote: Remote, context: Context, *, is_typed: bool = True) -> GitLogin:
    """Return the login for ``remote``: from the address, the environment or a plugin.

    Without one, git uses its own sources (rules, helpers, netrc, keys). If the address is not the typed one, its login
    is from a rule in git's configuration.
    """
    if not remote.is_web:
        return GitLogin()
    user, colon, password = remote.url.userinfo.partition(":")
    user = unquote(user)
    found_in = "the address" if is_typed else "git's configuration"
    if colon and is_typed:
        return _login_with(remote, user, unquote(password), found_in)
    overheard = is_overheard(remote.origin, context.home)
    found = None if overheard else context.credentials(remote.origin, remote.url.path)
    if found is not None and not found.identity:
        name = (user if is_typed else "") or _user_of(found, remote)
        return _login_with(remote, name, found.secret.reveal(), found.found_in)
    if colon:
        return _login_with(remote, user, unquote(password), found_in)
    if overheard:
        # The user's own helpers are switched off as well, since some answer for any host.
        return GitLogin(((f"credential.{_base(remote)}.helper", ""),))
    if not user:
        return GitLogin()
    # The user name may be a token, which needs no password. The user's own helpers are asked for a password first; the
    # login without one is a second run, so that they do not store the token as a login that worked.
    base = _base(remote)
    return GitLogin(((f"credential.{base}.username", user),), otherwise=_login_with(remote, user, "", found_in))


def is_in_clear(remote: Remote, git: Git, directory: Path) -> bool:
    """Return whether only somebody else's text says that ``remote`` is asked without TLS."""
    if remote.scheme != "http" or git.context.network.settings.allows_credentials(remote.origin):
        return False
    return rewritten(remote, git, directory).startswith("http://")


def login_without_credentials(remote: Remote, context: Context) -> GitLogin:
    """Return a login that sends nothing, with git's own sources switched off; raise if there is a credential."""
    found = context.credentials(remote.origin, remote.url.path)
    if found is not None:
        raise in_clear(remote.origin, sent_credential(found))
    # git reads that file by itself, and no setting keeps it from that.
    place = entry_in_home(context.environ, remote.origin.host.strip("[]"))
    if place is not None:
        raise in_clear(remote.origin, SentCredential(place))
    settings = (
        (f"credential.{_base(remote)}.helper", ""),
        # The whole location: of several settings git takes the one for the longest path.
        (f"http.{remote.location}.extraHeader", ""),
        (f"http.{remote.location}.cookieFile", ""),
    )
    return GitLogin(settings, withheld_from=shown_origin(remote.origin))


def _login_with(remote: Remote, user: str, password: str, found_in: str) -> GitLogin:
    secret = Secret(password)
    if any(character in user + password for character in "\r\n\0"):
        raise AuthenticationError(f"the credential from {found_in} has a line break in it", hint="is it one token?")
    base = _base(remote)
    # The empty value removes the helpers before it, so that this login is used, and not stored by a helper.
    return GitLogin(
        ((f"credential.{base}.helper", ""), (f"credential.{base}.helper", _HELPER)),
        {_USER: user, _PASSWORD: secret.reveal()},
        found_in,
        shown_username(user, secret),
    )


def _user_of(credential: Credential, remote: Remote) -> str:
    return credential.username or _TOKEN_USERS.get(remote.url.host, _TOKEN_USER)


def _base(remote: Remote) -> str:
    return str(remote.url._replace(userinfo="", path=""))


# ---------------------------------------------------------------------------------------------------------- redirects


_REDIRECTED = re.compile(r"The requested URL returned error: 30[12378]")
_QUESTION: Final = "/info/refs?service=git-upload-pack"


def we_follow_redirects(remote: Remote, context: Context) -> bool:
    """Return whether we follow redirects and git does not.

    That is so if a server named the address, if there is no TLS, or if each address is to be judged.
    """
    judged = context.check_address is not None or context.address_gate is not None
    return remote.is_web and (judged or remote.scheme == "http")


def was_redirected(said: str) -> bool:
    """Return whether git stopped at a redirect that it was not allowed to follow."""
    return _REDIRECTED.search(said) is not None


def redirect_target(remote: Remote, authorization: str | None, context: Context) -> Remote | None:
    """Return the remote that ``remote`` redirects to; ``None`` if there is no redirect, or only after a login."""
    return context.once(("git redirect", remote), partial(_request_redirect_target, remote, authorization, context))


def _request_redirect_target(remote: Remote, authorization: str | None, context: Context) -> Remote | None:
    from getmodules.api.http import Authorization, Call

    url = remote.location.rstrip("/") + _QUESTION
    grant = (
        None if authorization is None else Authorization(origin=remote.origin, headers={"Authorization": authorization})
    )
    # Without retries of its own: they are counted with those of the git command, which is run again.
    call = Call(method="GET", url=url, authorization=grant, accept=frozenset({401, 403}), retries=0)
    answer = context.network.session().send(call, context)
    answer.close()
    if answer.url == url:
        return None
    location, found, more = answer.url.partition(_QUESTION)
    if not found or more or "?" in location:
        raise UnsafeContentError(
            f"{remote.shown} redirects to what is no repository: {printable(answer.shown(answer.url))!r}",
            part="elsewhere",
        )
    return Remote(check_url(location))
