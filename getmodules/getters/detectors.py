"""Detectors for the shorthand of forges, and for git's scp form."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

from getmodules.api.hookspecs import hookimpl
from getmodules.api.ports import Detector, Shorthand
from getmodules.errors import AddressError

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_SCP = re.compile(r"(?P<user>[A-Za-z0-9._~][A-Za-z0-9._~-]*)@(?P<host>[^/:@\s]+):(?P<path>[^:].*)")


class Forge:
    """Detector for ``host/owner/repository[/sub]``, the shorthand of one forge.

    With ``subgroups``, the repository's path may have more parts: then a segment that ends in ``.git`` is its last one.
    """

    def __init__(self, name: str, host: str, *, subgroups: bool = False) -> None:
        self.name = name
        self._host = host
        self._subgroups = subgroups

    def detect(self, shorthand: Shorthand) -> str | None:
        host, _, path = shorthand.body.partition("/")
        if host != self._host:
            return None
        segments = [segment for segment in path.split("/") if segment]
        length = self._repository_length(segments)
        repository, rest = segments[:length], segments[length:]
        if len(repository) < 2 or not all(self._is_name(segment) for segment in repository):
            raise AddressError(
                f"{self._host} addresses name an owner and a repository",
                hint=f"write {self._host}/OWNER/REPOSITORY[//SUBDIRECTORY][?ref=REF]",
            )
        url = f"git::https://{self._host}/{'/'.join(repository).removesuffix('.git')}.git"
        return f"{url}//{'/'.join(rest)}" if rest else url

    def _repository_length(self, segments: list[str]) -> int:
        if self._subgroups:
            for length, segment in enumerate(segments, start=1):
                if segment.endswith(".git"):
                    return length
        return 2

    @staticmethod
    def _is_name(segment: str) -> bool:
        return _NAME.fullmatch(segment) is not None and segment not in (".", "..", ".git")


class ScpForm:
    """Detector for git's scp form: ``git@host:path`` anywhere, ``user@host:path`` after ``git::``."""

    name = "git"

    def detect(self, shorthand: Shorthand) -> str | None:
        match = _SCP.fullmatch(shorthand.body)
        if match is None or shorthand.force not in (None, "git"):
            return None
        if match["user"] != "git" and shorthand.force is None:
            return None
        # The scp form is literal; in a URL a blank or a percent sign would mean something else, or nothing.
        path = quote(match["path"].removeprefix("/"), safe="/!$&'()*+,;=:@~")
        return f"git::ssh://{match['user']}@{match['host']}/{path}"


@hookimpl
def getmodules_detectors() -> Iterable[Detector]:
    return (
        Forge("github", "github.com"),
        Forge("gitlab", "gitlab.com", subgroups=True),
        # Bitbucket has hosted nothing but git since 2020, so its API need not be asked for the kind of a repository.
        Forge("bitbucket", "bitbucket.org"),
        ScpForm(),
    )
