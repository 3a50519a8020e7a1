"""All that a git process needs to reach one remote: transports, login, certificates, keys.

Credentials for git, bound to one origin: in variables that a helper of one line reads, never in a command line.

git asks helpers again for each host that it is sent to, and ours is configured for one origin alone. A header
(``http.extraHeader``) would follow a redirect to anywhere.

Redirects where a server must not lead anywhere: git would connect first and ask afterwards, so we follow them.

Where the user wrote an https address git follows by itself, to https alone.
"""

from __future__ import annotations

import base64
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
from getmodules.errors import AuthenticationError, OfflineError, UnsafeContentError
from getmodules.files.opening import NEW
from getmodules.files.os_errors import translated
from getmodules.getters.git.environment import connecting, environment
from getmodules.getters.git.errors import SSHKEY, Story
from getmodules.getters.git.host_check import Reach, reach
from getmodules.getters.git.process import Done, Git, How, Patience
from getmodules.getters.git.remote import TRANSPORTS, Remote
from getmodules.getters.git.rewriting import leads_to_ssh, place_settings, rewritten, with_own_login
from getmodules.net.address_check import address_check_for_class
from getmodules.net.credentials import TOKEN_PREFIX, basic, is_overheard, variable_suffix
from getmodules.util.redact import Secret, printable
from getmodules.util.values import field, replace, valueclass

_USER: Final = "GETMODULES_GIT_USERNAME"
_PASSWORD: Final = "GETMODULES_GIT_PASSWORD"
#: ``printf`` is built into the shell, so that nothing of this stands in a list of processes.
_HELPER: Final = f'!f() {{ test "$1" = get && printf "username=%s\\npassword=%s\\n" "${_USER}" "${_PASSWORD}"; }}; f'
#: Whom a lone token belongs to. Most forges take any name; these want their own.
_TOKEN_USERS: Final = {"gitlab.com": "oauth2", "bitbucket.org": "x-token-auth"}
_TOKEN_USER: Final = "x-access-token"


@valueclass(kw_only=False)
class Access:
    """What a git process is told so that it can log in."""

    settings: tuple[tuple[str, str], ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Where the credential was found, if there is one of ours.
    offered: str | None = None
    #: What to try next, where nobody knows a password.
    otherwise: Access | None = None

    @property
    def authorization(self) -> str | None:
        """The same as a header, for requests of our own to that origin."""
        return basic(self.variables[_USER], Secret(self.variables[_PASSWORD])) if self.variables else None


def knows_no_password(said: str) -> bool:
    """Whether git would have had to ask somebody for the password of a known user."""
    return "could not read Password" in said


def access(remote: Remote, context: Context, *, is_typed: bool = True) -> Access:
    """Of the address, of the environment, of a plugin; else git's own ways are open (rules, helpers, netrc, keys).

    Where the address is not as it was typed, its login is from a rule in git's configuration.
    """
    if not remote.is_web:
        return Access()
    user, colon, password = remote.url.userinfo.partition(":")
    user = unquote(user)
    found_in = "the address" if is_typed else "git's configuration"
    if colon and is_typed:
        return _given(remote, user, unquote(password), found_in)
    overheard = is_overheard(remote.origin, context.home)
    found = None if overheard else context.credentials(remote.origin, remote.url.path)
    if found is not None and not found.identity:
        name = (user if is_typed else "") or _user_of(found, remote)
        return _given(remote, name, found.secret.reveal(), found.found_in)
    if colon:
        return _given(remote, user, unquote(password), found_in)
    if overheard:
        # Nor do the user's own helpers tell anything, some of which answer whoever asks.
        return Access(((f"credential.{_base(remote)}.helper", ""),))
    if not user:
        return Access()
    # It may be a token, which needs no password. The user's own helpers are asked for one first; they do not hear of
    # the token that worked, which they would write down.
    base = _base(remote)
    return Access(((f"credential.{base}.username", user),), otherwise=_given(remote, user, "", found_in))


def _given(remote: Remote, user: str, password: str, found_in: str) -> Access:
    secret = Secret(password)
    if any(character in user + password for character in "\r\n\0"):
        raise AuthenticationError(f"the credential from {found_in} has a line break in it", hint="is it one token?")
    base = _base(remote)
    # The empty one makes git forget the helpers before it: what was given is used, and stored nowhere.
    return Access(
        ((f"credential.{base}.helper", ""), (f"credential.{base}.helper", _HELPER)),
        {_USER: user, _PASSWORD: secret.reveal()},
        found_in,
    )


def _user_of(credential: Credential, remote: Remote) -> str:
    return credential.username or _TOKEN_USERS.get(remote.url.host, _TOKEN_USER)


def _base(remote: Remote) -> str:
    return str(remote.url._replace(userinfo="", path=""))


_REDIRECTED = re.compile(r"The requested URL returned error: 30[12378]")
_QUESTION: Final = "/info/refs?service=git-upload-pack"


def are_ours(remote: Remote, context: Context) -> bool:
    """Whether git must not follow any: a server named the address, or could name one without TLS."""
    return remote.is_web and (context.check_address is not None or remote.scheme == "http")


def was_redirected(said: str) -> bool:
    return _REDIRECTED.search(said) is not None


def followed(remote: Remote, authorization: str | None, context: Context) -> Remote | None:
    """Where the server of ``remote`` sends everybody; ``None`` where it tells that only after a login."""
    return context.once(("git redirect", remote), partial(_follow, remote, authorization, context))


def _follow(remote: Remote, authorization: str | None, context: Context) -> Remote | None:
    from getmodules.api.http import Authorization, Call

    url = remote.location.rstrip("/") + _QUESTION
    grant = (
        None if authorization is None else Authorization(origin=remote.origin, headers={"Authorization": authorization})
    )
    call = Call(method="GET", url=url, authorization=grant, accept=frozenset({401, 403}))
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


_LOCAL: Final = "file"
#: Where a redirect may lead. The user's own ``insteadOf`` may lead to any transport that we know.
_REDIRECTS: Final = {"http": ("http", "https"), "https": ("https",)}
_SSH_OPTIONS: Final = (
    # No question is ever asked; a host key that is not known is none to trust.
    *("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"),
    # A shared connection is used, but none is left behind.
    *("-o", "ControlMaster=no", "-o", "ConnectTimeout=15"),
)
_SSH = re.compile(r"""(?:"[^"]*ssh(?:\.exe)?"|'[^']*ssh(?:\.exe)?'|[^\s"']*ssh(?:\.exe)?)(?=\s|$)""", re.IGNORECASE)
_KEY_PREFIX: Final = "key-"


@valueclass(kw_only=False)
class Connection:
    remote: Remote
    directory: Path
    silence_seconds: float
    #: Of the network that the host is in, where that is known.
    kind: str | None
    _environ: Mapping[str, str] = field(repr=False)
    _access: Access = field(repr=False)
    _settings: tuple[tuple[str, str], ...] = field(repr=False)
    _variables: Mapping[str, str] = field(repr=False)

    def environment(self, repository: Path, more: tuple[tuple[str, str], ...] = ()) -> dict[str, str]:
        return connecting(
            environment(
                self._environ,
                repository,
                settings=(*_transports(self.remote), *self._settings, *self._access.settings, *more),
                more={**self._variables, **self._access.variables},
            )
        )

    def run(
        self,
        git: Git,
        arguments: Sequence[str],
        repository: Path,
        more: tuple[tuple[str, str], ...] = (),
        **how: Unpack[How],
    ) -> Done:
        """Let ``git`` talk to the remote, or to where that sends us on."""
        done = git.run(arguments, self.environment(repository, more), **how)
        if done.code != 0 and self._access.otherwise is not None and knows_no_password(done.said):
            return replace(self, _access=self._access.otherwise).run(git, arguments, repository, more, **how)
        if done.code == 0 or not (are_ours(self.remote, git.context) and was_redirected(done.said)):
            return done
        target = followed(self.remote, self._offered.authorization, git.context)
        if target is None:
            return done
        check = address_check_for_class(self.kind, partial(_too_far_in, self.remote.shown))
        there = Git(replace(git.context, check_address=check))
        with connected(target, there, self.directory) as connection:
            return there.run(arguments, connection.environment(repository, more), **how)

    @property
    def _offered(self) -> Access:
        return self._access.otherwise or self._access

    def patience(self, look: Callable[[], int] = int) -> Patience:
        return Patience(look, self.silence_seconds)

    def story(self, what: str) -> Story:
        variable = TOKEN_PREFIX + variable_suffix(self.remote.origin) if self.remote.is_web else None
        offered = self._offered.offered or (SSHKEY if self.remote.sshkey is not None else None)
        return Story(f"{what} {self.remote.shown}", offered, variable)


@contextmanager
def connected(remote: Remote, git: Git, directory: Path) -> Iterator[Connection]:
    """``directory`` is private: the key of the address lies in it meanwhile."""
    variables: dict[str, str] = {}
    context = git.context
    silence = 60.0
    if context.offline and (remote.scheme != _LOCAL or rewritten(remote, git, directory) != remote.location):
        raise OfflineError(
            f"{remote.shown} is not in the cache, or not all that is needed of it", hint="run it once without --offline"
        )
    found = Reach() if remote.scheme == _LOCAL else reach(remote, git, directory)
    typed, remote = remote, with_own_login(remote, git, directory)
    settings: list[tuple[str, str]] = [*found.settings, *place_settings(remote)]
    if remote.scheme != _LOCAL:
        network = context.network.settings
        silence = network.silence_seconds
        if are_ours(remote, context):
            settings.append(("http.followRedirects", "false"))
        if remote.is_web:
            origin = remote.origin
            _add_certificates(remote, network.ca_for(origin.host, origin.port), context.environ, variables)
            settings += _client_certificate(remote, network.client_certificate_for(origin.host, origin.port))
    with _key_file(remote, directory) as key:
        if remote.scheme != _LOCAL:
            variables["GIT_SSH_COMMAND"] = _ssh_command(remote, git, directory, key)
        yield Connection(
            *(remote, directory, silence, found.kind),
            *(context.environ, access(remote, context, is_typed=remote is typed), tuple(settings), variables),
        )


def _too_far_in(remote: str, kind: str, address: str) -> UnsafeContentError:
    return UnsafeContentError(
        f"{remote} redirects to the {kind} address {address}, which is further in than it is known to be",
        part="elsewhere",
    )


def _transports(remote: Remote) -> list[tuple[str, str]]:
    redirects = _REDIRECTS.get(remote.scheme, ())
    each = [(f"protocol.{name}.allow", "always" if name in redirects else "user") for name in TRANSPORTS]
    # By name, since the user's own word for one of them would stand above the one for all.
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


def _ssh_command(remote: Remote, git: Git, directory: Path, key: Path | None) -> str:
    """The user's own, with what must hold put right behind the program: ssh takes the first word on each option."""
    own = git.context.environ.get("GIT_SSH_COMMAND", "").strip()
    # Also for an https address, since ``insteadOf`` may lead to ssh.
    own = own or (_configured(git, directory) if leads_to_ssh(remote, git, directory) else "") or "ssh"
    if os.path.basename(own.split()[0]).lower().removesuffix(".exe") in ("plink", "tortoiseplink"):
        return f"{own} -batch"
    options = [*_SSH_OPTIONS]
    if key is not None:
        options += ["-i", str(key), "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none"]
    program = _SSH.match(own)
    end = program.end() if program else len(own)
    return f"{own[:end]} {shlex.join(options)}{own[end:]}"


def _configured(git: Git, directory: Path) -> str:
    done = git.run(["config", "--get", "core.sshCommand"], environment(git.context.environ, directory))
    return os.fsdecode(done.output).strip()


@contextmanager
def _key_file(remote: Remote, directory: Path) -> Iterator[Path | None]:
    """The key of ``sshkey=`` as ssh wants it: a file that nobody else can read. It is gone afterwards."""
    if remote.sshkey is None:
        yield None
        return
    sweep_keys(directory)
    # ssh wants a line end after the last line, and none of Windows.
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
    """Of a process that was killed one may be left. Whoever has the directory is alone in it."""
    with translated("cannot clean up a working directory"):
        for path in directory.glob(f"{_KEY_PREFIX}*"):
            path.unlink(missing_ok=True)
