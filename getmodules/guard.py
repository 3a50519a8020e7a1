"""Calls into plugins: whatever comes back that is not what the port promises names its distribution.

Errors of :mod:`getmodules.errors` pass, they are the plugin's legitimate words. Everything else, from any call
and from any step of an iteration, becomes a :class:`PluginContractError`, once, here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from getmodules.errors import GetModulesError, PluginContractError
from getmodules.localfile import LocalFile
from getmodules.model import Kind, Member
from getmodules.redact import printable, redact

T = TypeVar("T")
_BYTES = (bytes, bytearray, memoryview)


class Guard(NamedTuple):
    """Which plugin is being called."""

    plugin: str
    distribution: str

    def __str__(self) -> str:
        return f"plugin {self.plugin!r} ({self.distribution})"

    def violation(self, what: str) -> PluginContractError:
        return PluginContractError(
            f"{self}: {what}",
            hint=f"report this to the authors of {self.distribution}; --no-plugin {self.plugin} does without it",
        )

    def raised(self, where: str, error: BaseException) -> GetModulesError:
        if isinstance(error, GetModulesError):
            return error
        said = printable(redact(str(error)))
        return self.violation(f"{where} raised {type(error).__name__}{': ' if said else ''}{said}")

    def call(self, where: str, function: Callable[..., T], *arguments: object) -> T:
        try:
            return function(*arguments)
        except (Exception, SystemExit) as error:
            raise self.raised(where, error) from error

    def iterate(self, where: str, items: Iterable[T]) -> Iterator[T]:
        """The items, with the errors of the iteration wrapped; closes the source when it can be closed."""
        iterator = self.call(where, iter, items)
        try:
            while True:
                try:
                    item = next(iterator)
                except StopIteration:
                    return
                except (Exception, SystemExit) as error:
                    raise self.raised(where, error) from error
                yield item
        finally:
            for source in (iterator, items):
                close = getattr(source, "close", None)
                if callable(close):
                    self.call(f"{where}, closing", close)

    def chunks(self, where: str, source: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in self.iterate(where, source):
            if not isinstance(chunk, _BYTES):
                raise self.violation(f"{where} yielded {type(chunk).__name__} where bytes are needed")
            yield chunk

    def members(self, where: str, items: Iterable[Member]) -> Iterator[Member]:
        for member in self.iterate(where, items):
            if (
                type(member) is not Member
                or type(member.name) is not str
                or type(member.kind) is not Kind
                or type(member.target) is not str
                or not (member.size is None or (type(member.size) is int and member.size >= 0))
                or not callable(member.open)
            ):
                raise self.violation(f"{where} yielded something that is not a proper Member")
            if member.kind is Kind.FILE or member.kind is Kind.SYMLINK:
                member = member._replace(open=_Opener(self, where, member))
            yield member


class _Opener:
    """``member.open`` behind the guard; a class, since a closure for each of 100 000 members costs more."""

    __slots__ = ("_guard", "_member", "_where")

    def __init__(self, guard: Guard, where: str, member: Member) -> None:
        self._guard = guard
        self._where = where
        self._member = member

    def __call__(self) -> Iterable[bytes]:
        content = self._guard.call(self._where, self._member.open)
        if type(content) is LocalFile:
            return content  # ours to read, and the writer may share its blocks
        if type(content) is tuple and len(content) == 1 and type(content[0]) is bytes:
            return content  # what readers hand out for small files: nothing left that could go wrong
        return self._guard.chunks(self._where, content)
