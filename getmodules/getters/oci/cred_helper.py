"""Credential helpers, ``docker-credential-<name>``: programs that store credentials, or make them on demand.

Their protocol: one verb as the argument, the name of a server or a JSON object on standard input, and a JSON object or
an error message on standard output. A secret is never an argument, and never in a message of ours.

A helper may hang, write without end or leave children behind, so its process has limits.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from getmodules.api.limits import KIB
from getmodules.errors import AuthenticationError, ConfigError, ToolMissingError
from getmodules.util.processes import feed, kill, pause
from getmodules.util.redact import MASK, Secret, printable, redact
from getmodules.util.strict_json import StrictJsonError, loads, mapping, optional, string

if TYPE_CHECKING:
    from subprocess import Popen


PREFIX: Final = "docker-credential-"
#: The user name beside an identity token.
TOKEN_USER: Final = "<token>"
_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
#: The message for an unknown server; its text is a part of the protocol.
_NOT_FOUND = b"credentials not found in native keychain"


class Login(NamedTuple):
    """The credential that a helper has for one server."""

    username: str
    secret: Secret

    @property
    def is_identity(self) -> bool:
        return self.username == TOKEN_USER


class HelperAnswer(NamedTuple):
    """The result of one run of a helper."""

    code: int
    output: bytes
    complaint: bytes


#: Runs a helper: the command, its input, its environment. Raises :class:`AuthenticationError` without an answer.
Run = Callable[[Sequence[str], bytes, Mapping[str, str]], HelperAnswer]


# ----------------------------------------------------------------------------------------------- the helper's process


SECONDS: Final = 30.0
OUTPUT_BYTES: Final = 64 * KIB
_PIECE = 8 * KIB
_TICK = 0.05
#: How long to wait for output that a child of the helper keeps open after the helper has ended.
_GRACE = 0.5


def run_helper(
    command: Sequence[str], given: bytes, environ: Mapping[str, str], *, seconds: float = SECONDS
) -> HelperAnswer:
    """Run a helper to its end, for at most ``seconds``."""
    import subprocess

    what = f"the credential helper {os.path.basename(command[0])}"
    # In a session of its own the helper has no terminal to prompt at, and at the end there is one group to kill.
    apart = (
        {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
        if sys.platform == "win32"
        else {"start_new_session": True}
    )
    pipe = subprocess.PIPE
    try:
        process: Popen[bytes] = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(environ), **apart
        )
    except OSError as error:
        raise AuthenticationError(f"{what} cannot be started: {error.strerror or error}") from error
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        readers = (_PipeReader(process.stdout), _PipeReader(process.stderr))
        feed(process, given)
        _wait(process, readers, what, seconds)
        return HelperAnswer(process.returncode, *(reader.text for reader in readers))
    finally:
        kill(process)


class _PipeReader(threading.Thread):
    """Thread that reads one pipe. Only this thread closes the pipe, since no other may while it reads."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._collected = bytearray()
        self.start()

    @property
    def text(self) -> bytes:
        return bytes(self._collected)

    @property
    def is_too_long(self) -> bool:
        return len(self._collected) > OUTPUT_BYTES

    def run(self) -> None:
        with self._stream:
            while not self.is_too_long and (piece := os.read(self._stream.fileno(), _PIECE)):
                self._collected += piece


def _wait(process: Popen[bytes], readers: Sequence[_PipeReader], what: str, seconds: float) -> None:
    expires = time.monotonic() + seconds
    while process.poll() is None and not any(reader.is_too_long for reader in readers):
        if time.monotonic() >= expires:
            raise AuthenticationError(
                f"{what} did not answer within {seconds:g} seconds", hint="does it ask for something on a screen?"
            )
        # Mostly the output ends together with the helper, and a join notices that at once; otherwise poll.
        reading = next((reader for reader in readers if reader.is_alive()), None)
        if reading is not None:
            reading.join(_TICK)
        else:
            pause(process, _TICK)
    for reader in readers:
        reader.join(_GRACE)
    if any(reader.is_too_long for reader in readers):
        raise AuthenticationError(f"{what} wrote more than {OUTPUT_BYTES:,} bytes, and no answer is as long")


# ------------------------------------------------------------------------------------------------------- the protocol


class CredentialHelper:
    """One helper; ``asked_for_by`` is the file and the setting that names it, for people."""

    def __init__(self, name: str, asked_for_by: str, environ: Mapping[str, str], run: Run = run_helper) -> None:
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{asked_for_by}: {printable(name, 80)!r} is not the name of a credential helper",
                hint=f"it is what stands behind {PREFIX} in the name of a program on PATH",
            )
        self.program = PREFIX + name
        self._asked_for_by = asked_for_by
        self._environ = environ
        self._run = run

    def get(self, servers: Iterable[str]) -> Login | None:
        """Return the credential under the first of these names that the helper knows, or ``None``."""
        for server in servers:
            answer = self._call("get", server.encode())
            if answer.code == 0:
                login = self._login(answer)
                if login is not None:
                    return login
            elif not _says_not_found(answer):
                raise self._failure("get", answer, secrets=_secrets_in(answer.output))
        return None

    def store(self, server: str, login: Login) -> None:
        secret = login.secret.reveal()
        document = {"ServerURL": server, "Username": login.username, "Secret": secret}
        answer = self._call("store", json.dumps(document, ensure_ascii=False).encode())
        if answer.code:
            raise self._failure("store", answer, secrets=(secret,))

    def erase(self, servers: Iterable[str]) -> bool:
        """Erase all of these names, and return whether the helper knew any."""
        found = False
        for server in servers:
            # Each helper answers in another way if it is to erase an unknown name, so ask for it first.
            if self.get((server,)) is not None:
                answer = self._call("erase", server.encode())
                if answer.code:
                    raise self._failure("erase", answer, secrets=())
                found = True
        return found

    def _call(self, verb: str, given: bytes) -> HelperAnswer:
        return self._run((self._find(), verb), given, self._environ)

    def _find(self) -> str:
        import shutil

        # A relative directory on PATH would let the directory that we happen to be in choose the program.
        path = self._environ.get("PATH", "").split(os.pathsep)
        found = shutil.which(self.program, path=os.pathsep.join(filter(os.path.isabs, path)))
        if found is None or not os.path.isabs(found):
            raise ToolMissingError(
                f"{self.program} is not on PATH, and {self._asked_for_by} asks for it",
                hint="install that credential helper, or take the setting out of the file",
            )
        return found

    def _login(self, answer: HelperAnswer) -> Login | None:
        what = f"the answer of {self.program}"
        try:
            document = mapping(loads(answer.output, what, OUTPUT_BYTES), what)
            username = optional(document, "Username", string, what) or ""
            secret = optional(document, "Secret", string, what) or ""
        except StrictJsonError as error:
            raise AuthenticationError(str(error), hint=f"{self._asked_for_by} asks for that helper") from None
        return Login(username, Secret(secret)) if secret else None

    def _failure(self, verb: str, answer: HelperAnswer, secrets: Iterable[str]) -> AuthenticationError:
        # By the protocol, errors are on standard output. An object there is an answer, which must not be shown.
        said = b"" if answer.output.lstrip().startswith(b"{") else answer.output
        reason = printable(_mask_secrets(secrets, b"\n".join((said, answer.complaint)).decode("utf-8", "replace")))
        return AuthenticationError(
            f"{self.program} {verb} failed with code {answer.code}: {reason or 'it does not say why'}",
            hint=f"{self._asked_for_by} asks for that helper",
        )


def _says_not_found(answer: HelperAnswer) -> bool:
    return _NOT_FOUND in answer.output or _NOT_FOUND in answer.complaint


def _secrets_in(output: bytes) -> tuple[str, ...]:
    """Return the secret that a helper printed before it failed."""
    try:
        document = mapping(loads(output, "", OUTPUT_BYTES), "")
        return (optional(document, "Secret", string, "") or "",)
    except StrictJsonError:
        return ()


def _mask_secrets(secrets: Iterable[str], text: str) -> str:
    """Return ``text`` as one line, without the secrets in any encoding that a program may use."""
    for secret in filter(None, secrets):
        encoded = base64.b64encode(secret.encode()).decode()
        for form in (
            json.dumps(secret)[1:-1],
            json.dumps(secret, ensure_ascii=False)[1:-1],
            quote(secret),
            encoded,
            secret,
        ):
            text = text.replace(form, MASK)
    return redact(" ".join(text.split()))
