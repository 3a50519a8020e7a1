"""Resolve symbolic links in memory, before any of them exists."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from getmodules.api.model import Kind
from getmodules.errors import UnsafeContentError
from getmodules.util.redact import printable

#: As many links as Linux follows on the way to one file.
MAX_FOLLOWED = 40


class LinkWalk:
    """Follow links through a finished tree as a kernel would, component by component.

    ``kinds`` are the files and directories by path, ``links`` the targets by path of link. Every link is
    followed once: what it leads to is remembered, so that chains of links cost no more than their length.
    """

    def __init__(
        self, kinds: Mapping[str, Kind], links: Mapping[str, str], subdir: str, checkpoint: Callable[[], None]
    ) -> None:
        self._kinds = kinds
        self._links = links
        self._subdir = subdir
        self._checkpoint = checkpoint
        self._known: dict[str, tuple[str, int]] = {}

    def follow(self, link: str) -> str:
        """Return the path of the file or directory at the end of ``link``; ``""`` is the top of the tree."""
        return self._follow(link, 1)[0]

    def _follow(self, link: str, depth: int) -> tuple[str, int]:
        known = self._known.get(link)
        if known is not None:
            return known
        if depth > MAX_FOLLOWED:
            raise self._refused(link, "link-loop", "leads in a circle, or over too many other links")
        self._checkpoint()
        target = self._links[link]
        if target.startswith("/"):
            raise self._refused(link, "link-escapes", "is absolute")
        if not target:
            raise self._refused(link, "link-dangling", "points nowhere")
        here = link[: max(link.rfind("/"), 0)]
        followed = 1
        for component in target.split("/"):
            here, more = self._step(link, here, component, depth)
            followed += more
            if followed > MAX_FOLLOWED:
                raise self._refused(link, "link-loop", "leads over too many other links")
        self._known[link] = here, followed
        return here, followed

    def _step(self, link: str, here: str, component: str, depth: int) -> tuple[str, int]:
        if here and self._kinds.get(here) is Kind.FILE:
            raise self._refused(link, "link-dangling", f"goes through {printable(here)!r}, which is a file")
        if component in ("", "."):
            return here, 0
        if component == "..":
            if not here:
                raise self._refused(link, "link-escapes", "leads out of what is installed")
            return here[: max(here.rfind("/"), 0)], 0
        there = f"{here}/{component}" if here else component
        if there in self._links:
            return self._follow(there, depth + 1)
        if there not in self._kinds:
            raise self._refused(link, "link-dangling", f"needs {printable(there)!r}, which is not installed")
        return there, 0

    def _refused(self, link: str, part: str, what: str) -> UnsafeContentError:
        hint = None
        if self._subdir and part in ("link-escapes", "link-dangling"):
            hint = "if it leads to another part of the package: install the whole package"
        return UnsafeContentError(
            f"the link {printable(link)!r} to {printable(self._links[link])!r} {what}", part=part, hint=hint
        )
