"""``.gitmodules``: where the packages in a package are. Written by whoever wrote the repository, so nothing of it is
believed: git takes it apart, and each URL is judged as one of an address would be."""

from __future__ import annotations

from typing import Final

from getmodules.errors import AddressError, CorruptArchiveError, NotFoundError, UnsafeContentError
from getmodules.git.command import Git
from getmodules.git.environment import environment
from getmodules.git.remote import Remote
from getmodules.git.store import Store
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

FILE: Final = ".gitmodules"
_HINT: Final = "submodules=false does without the submodules"


@valueclass(kw_only=False)
class Submodules:
    """URLs by path. How a checkout would be updated (``update``, ``branch``, ``ignore``) means nothing here."""

    urls: dict[str, str]

    @classmethod
    def read(cls, content: bytes, store: Store, git: Git) -> Submodules:
        done = git.run(
            ["config", "--null", "--no-includes", "--file", "-", "--get-regexp", r"^submodule\..*\.(path|url)$"],
            environment(git.context.environ, store.path),
            given=content,
        )
        if done.code not in (0, 1):  # 1: nothing of the kind is in it
            raise CorruptArchiveError(f"{FILE} in the repository cannot be read", hint=_HINT)
        by_name: dict[str, dict[str, str]] = {}
        for item in filter(None, done.output.decode("utf-8", "surrogateescape").split("\0")):
            key, _, value = item.partition("\n")
            name, _, what = key.removeprefix("submodule.").rpartition(".")
            by_name.setdefault(name, {})[what] = value
        urls: dict[str, str] = {}
        for values in by_name.values():
            if "path" in values and "url" in values:
                path = values["path"].rstrip("/")
                if urls.setdefault(path, values["url"]) != values["url"]:
                    raise UnsafeContentError(
                        f"{FILE} in the repository has two URLs for the submodule at {printable(path)!r}",
                        part="submodule",
                        hint=_HINT,
                    )
        return cls(urls)

    def remote(self, path: str, parent: Remote) -> Remote:
        """Where the submodule at ``path`` is."""
        typed = self.urls.get(path)
        if typed is None:
            raise NotFoundError(
                f"the submodule at {printable(path)!r} has no URL in the {FILE} of the repository", hint=_HINT
            )
        try:
            remote = parent.submodule(typed)
        except AddressError as error:
            raise UnsafeContentError(
                f"the submodule at {printable(path)!r} cannot be fetched: {error.message}", part="submodule", hint=_HINT
            ) from error
        if remote.scheme == "file" and parent.scheme != "file":
            raise UnsafeContentError(
                f"the submodule at {printable(path)!r} is a path of this machine, and the repository is not on it",
                part="local-source",
                hint=_HINT,
            )
        return remote
