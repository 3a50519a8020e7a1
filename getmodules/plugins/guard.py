"""Guard calls into plugins: any result or exception that its port does not allow names the plugin's distribution.

Errors of :mod:`getmodules.errors` pass, cleaned, since a plugin's author may forget that an address has a password.
Everything else, from any call and from any step of an iteration, becomes a :class:`PluginContractError`, once, here;
only the user's own interrupt passes.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import methodcaller
from typing import Any, Generic, NamedTuple, TypeVar

from getmodules.api.model import Kind, Member
from getmodules.errors import GetModulesError, PluginContractError
from getmodules.files.local import LocalFile
from getmodules.plugins.checks import wrong_member
from getmodules.util.redact import printable, redact

T = TypeVar("T")
#: The members of an enumeration are slow to get at.
_FILE, _SYMLINK = Kind.FILE, Kind.SYMLINK
_BYTES = (bytes, bytearray, memoryview)
#: The bound on offers of a hook, names of an offer, demands of an address: a longer list may have no end.
MOST_LISTED = 1_000
_LONGEST_MESSAGE = 2_000

_logger = logging.getLogger(__name__)


class Guard(NamedTuple):
    """A guard for the calls into one plugin."""

    plugin: str
    distribution: str
    is_ours: bool = False

    def __str__(self) -> str:
        return f"plugin {self.plugin!r} ({self.distribution})"

    def violation(self, what: str) -> PluginContractError:
        return PluginContractError(
            f"{self}: {what}",
            hint=f"report this to the authors of {self.distribution}; --no-plugin {self.plugin} does without it",
        )

    def raised(self, where: str, error: BaseException) -> PluginContractError:
        violation = self.violation(f"{where} raised {described(error)}")
        violation.hint = self.hint_to_install(error) or violation.hint
        return violation

    def hint_to_install(self, error: BaseException) -> str | None:
        """Return what to do about a dependency that is not installed; None if ``error`` is about something else."""
        if not isinstance(error, ModuleNotFoundError) or not error.name:
            return None
        missing = printable(error.name.partition(".")[0])
        return (
            f"it needs the module {missing}, which is not installed: install what brings it into the Python of"
            f" getmodules ({printable(sys.executable, 500)}), as the documentation of {self.distribution} says;"
            f" --no-plugin {self.plugin} does without the plugin"
        )

    def call(self, where: str, function: Callable[..., T], *arguments: object) -> T:
        try:
            return function(*arguments)
        except KeyboardInterrupt:
            raise
        except GetModulesError as error:
            clean(error)
            if not self.is_ours:
                error.advise(f"{self} says so")
            raise
        except BaseException as error:  # SystemExit and its kin: a plugin does not end the program
            raise self.raised(where, error) from error

    def call_method(self, where: str, offer: object, method: str, *arguments: object) -> Any:
        """Call a method of an offer; looking the method up is guarded as well."""
        return self.call(where, methodcaller(method, *arguments), offer)

    def collect(self, where: str, items: Iterable[T]) -> tuple[T, ...]:
        """Return all items, of which there may only be a few."""
        source = GuardedIterable(self, where, items, _itself)
        collected = tuple(islice(source, MOST_LISTED + 1))
        source.close()
        if len(collected) > MOST_LISTED:
            raise self.violation(f"{where} gave more than {MOST_LISTED:,} things; is there an end to them?")
        return collected

    def chunks(self, where: str, source: Iterable[bytes]) -> GuardedIterable[bytes]:
        def exactly_bytes(chunk: bytes) -> bytes:
            if type(chunk) is bytes:
                return chunk
            if not isinstance(chunk, _BYTES):
                raise self.violation(f"{where} yielded {type(chunk).__name__} where bytes are needed")
            # The length of a memoryview may be one of wider things, and a bytearray may be used again.
            return bytes(chunk)

        return GuardedIterable(self, where, source, exactly_bytes)

    def members(self, where: str, items: Iterable[Member], *, ours: bool = False) -> GuardedIterable[Member]:
        """Guard an iteration over members. Those of our own readers are not checked here, but by the writer."""
        if ours:
            return GuardedIterable(self, where, items, _itself)

        def proper(member: Member) -> Member:
            if (fault := wrong_member(member)) is not None:
                raise self.violation(f"{where} yielded {fault}")
            name, kind, size, executable, opener, target = member
            if kind is _FILE or kind is _SYMLINK:
                return Member(name, kind, size, executable, _Opener(self, where, opener), target)
            return member

        return GuardedIterable(self, where, items, proper)


def _itself(item: T) -> T:
    return item


def described(error: BaseException) -> str:
    """Return the type of an exception and its text, safe to show."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 -- its __str__ is the plugin's code as well
        said = "what it says cannot be shown"
    return printable(redact(f"{type(error).__name__}: {said}" if said else type(error).__name__), _LONGEST_MESSAGE)


def clean(error: GetModulesError) -> None:
    """Clean the texts of an error that a plugin raised: no secrets, no escape sequences."""
    # The attributes may be missing: a subclass may never have called our ``__init__``.
    error.message = _cleaned(getattr(error, "message", "no message"))
    error.hint = None if getattr(error, "hint", None) is None else _cleaned(error.hint)
    error.address = None if getattr(error, "address", None) is None else _cleaned(error.address)
    error.part = part if (part := getattr(error, "part", None)) in type(error).parts else None
    error.args = (error.message,)
    error.__notes__ = [f"hint: {error.hint}"] if error.hint else []


def _cleaned(text: object) -> str:
    return printable(redact(str(text)), _LONGEST_MESSAGE)


class GuardedIterable(Generic[T]):
    """The items of a plugin, iterated over once: errors are wrapped, and the source is closed when it can be.

    A source that fails while it is closed after its last item is an error. Closed before, it gives way to the
    error that ended the iteration, so there it is only logged.
    """

    def __init__(self, guard: Guard, where: str, items: Iterable[T], convert: Callable[[T], T]) -> None:
        self._guard = guard
        self._where = where
        self._items = items
        self._convert = convert
        self._open: list[object] = [items]

    def __iter__(self) -> Iterator[T]:
        guard, where, convert = self._guard, self._where, self._convert
        try:
            iterator = guard.call(where, iter, self._items)
            if iterator is not self._items:
                self._open.insert(0, iterator)
            while True:
                try:
                    item = next(iterator)
                except StopIteration:
                    break
                except KeyboardInterrupt:
                    raise
                except GetModulesError as error:
                    clean(error)
                    raise
                except BaseException as error:
                    raise guard.raised(where, error) from error
                yield convert(item)
            self._close_sources()
        finally:
            self.close()

    def close(self) -> None:
        try:
            self._close_sources()
        except GetModulesError as error:
            _logger.warning("%s", error.message)

    def _close_sources(self) -> None:
        while self._open:
            self._guard.call(f"{self._where}, closing", _close, self._open.pop(0))


def _close(source: object) -> None:
    close = getattr(source, "close", None)
    if callable(close):
        close()


class _Opener:
    """``member.open`` behind the guard; a class, since a closure for each of 100 000 members costs more."""

    __slots__ = ("_guard", "_open", "_where")

    def __init__(self, guard: Guard, where: str, opener: Callable[[], Iterable[bytes]]) -> None:
        self._guard = guard
        self._where = where
        self._open = opener

    def __call__(self) -> Iterable[bytes]:
        content = self._guard.call(self._where, self._open)
        if type(content) is LocalFile:
            return content  # ours to read, and the writer may share its blocks
        if type(content) is tuple and len(content) == 1 and type(content[0]) is bytes:
            return content  # what readers hand out for small files: nothing left that could go wrong
        return self._guard.chunks(self._where, content)
