"""The console, the only place that prints: data on stdout, messages on stderr, and lines that are updated in place.

Data that cannot be written is an error, because it was asked for. Messages are a courtesy: if stderr is gone or full,
the work goes on. All output is made harmless: the only escape sequences that reach a terminal are our own colours and,
if several lines are updated, the way back to the first of them. JSON is plain ASCII for the same reason, and because
that works in any locale.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from getmodules.errors import ConfigError, GetModulesError

_LONGEST_MESSAGE = 2_000
_LONGEST_SECRET = 64 << 10
#: The names of as many modules are in front of their error; those of more are listed behind it.
_FEW_NAMES = 3
_USUAL_WIDTH, _USUAL_HEIGHT = 80, 24
_COLOURS = {"error": "1;31", "warning": "33", "note": "36"}


class OutputError(GetModulesError):
    """Standard output could not be written. Only the command line has this error."""


class ReaderGoneError(Exception):
    """The reader of our output has closed it: ``getmodules detect - | head -1``."""


class Console:
    """The streams of one call. Any thread may write to them."""

    def __init__(
        self,
        *,
        stdout: TextIO | None,
        stderr: TextIO | None,
        stdin: TextIO | None = None,
        environ: Mapping[str, str],
    ) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self._stdin = stdin
        self.environ = environ
        self.json = False
        self.quiet = False
        self.verbose = False
        self._guard = threading.RLock()
        self._block: tuple[str, ...] = ()

    @classmethod
    def of_process(cls) -> Console:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        if sys.stdin is not None and hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(errors="surrogateescape")
        return cls(stdout=sys.stdout, stderr=sys.stderr, stdin=sys.stdin, environ=os.environ)

    @property
    def stderr(self) -> TextIO | None:
        """The stream for messages; for plugins that show progress themselves."""
        return self._stderr

    @property
    def animates(self) -> bool:
        """True if lines on stderr can be updated in place."""
        return _is_terminal(self._stderr) and self.environ.get("TERM") != "dumb"

    @property
    def width(self) -> int:
        """The columns of the terminal; ``COLUMNS`` overrides them."""
        columns = self.environ.get("COLUMNS", "")
        if columns.isdecimal() and int(columns) > 0:
            return int(columns)
        for stream in (self._stderr, self._stdout):
            try:
                if stream is not None and (width := os.get_terminal_size(stream.fileno()).columns) > 0:
                    return width
            except (OSError, ValueError):  # no terminal: ask the next
                continue
        return _USUAL_WIDTH

    @property
    def data_width(self) -> int | None:
        """The columns for a line of data; None where data go to no terminal, and are written in full."""
        return self.width if _is_terminal(self._stdout) else None

    @property
    def height(self) -> int:
        """The lines of the terminal that messages go to; ``LINES`` overrides them."""
        lines = self.environ.get("LINES", "")
        if lines.isdecimal() and int(lines) > 0:
            return int(lines)
        try:
            return os.get_terminal_size(self._stderr.fileno()).lines or _USUAL_HEIGHT if self._stderr else _USUAL_HEIGHT
        except (OSError, ValueError):
            return _USUAL_HEIGHT

    # ------------------------------------------------------------------------------------------------ input

    def lines_of_stdin(self) -> Iterator[str]:
        """Yield the lines that are not blank, without their ends, as they arrive."""
        if self._stdin is None:
            raise ConfigError("standard input is closed, so no sources can be read from it")
        try:
            for line in self._stdin:
                if line.strip():
                    yield line.rstrip("\r\n")
        except OSError as error:
            raise ConfigError(f"cannot read standard input: {error.strerror}") from error

    @property
    def can_ask(self) -> bool:
        """True if the user can see and answer a question: stdin and stderr are a terminal."""
        return _is_terminal(self._stdin) and _is_terminal(self._stderr)

    def ask(self, question: str) -> str:
        """Ask a question and return the answer; only if :attr:`can_ask`."""
        assert self._stdin is not None
        with self._guard:
            self.line("")
            self._write_message(question)
            answer = self._stdin.readline()
        if not answer:
            raise _no_answer()
        return answer.rstrip("\r\n")

    def ask_secretly(self, question: str) -> str:
        """Ask like :meth:`ask`, without showing the answer on the terminal."""
        import getpass
        import warnings

        self.line("")
        with warnings.catch_warnings():
            # Else getpass would go on, and show the answer.
            warnings.simplefilter("error", getpass.GetPassWarning)
            try:
                return getpass.getpass(question, self._stderr)
            except (EOFError, OSError, UnicodeDecodeError, getpass.GetPassWarning):
                pass
        # Raised here, without those exceptions, which may contain the answer.
        raise _no_answer()

    def secret_of_stdin(self) -> str:
        """Return the one line of standard input, without its end."""
        if self._stdin is None:
            raise ConfigError("standard input is closed, so nothing can be read from it")
        try:
            text = self._stdin.read(_LONGEST_SECRET + 1)
        except OSError as error:
            raise ConfigError(f"cannot read standard input: {error.strerror}") from error
        line = text.removesuffix("\n").removesuffix("\r")
        if len(line) > _LONGEST_SECRET or any(character in line for character in "\r\n\0"):
            raise ConfigError("what came on standard input is more than one line, or too long")
        return line

    # ---------------------------------------------------------------------------------------------- output

    def data(self, text: str) -> None:
        """Write data, one or more lines, to stdout."""
        with self._guard:
            self.line("")
            if self._stdout is None:
                raise OutputError("standard output is closed")
            try:
                self._stdout.write(f"{text}\n")
                self._stdout.flush()
            except BrokenPipeError as error:
                _abandon(self._stdout)
                raise ReaderGoneError from error
            except OSError as error:
                _abandon(self._stdout)
                raise OutputError(f"cannot write to standard output: {error.strerror}") from error

    def json_line(self, value: Mapping[str, object]) -> None:
        """Write a JSON object on one line, its keys in the order in which they are documented."""
        import json

        self.data(json.dumps(value))

    def result(self, text: str, fields: Mapping[str, object]) -> None:
        """Write ``text``, or ``fields`` if JSON is wanted."""
        if self.json:
            self.json_line(fields)
        else:
            self.data(text)

    def message(self, text: str) -> None:
        """Write one or more lines for people to stderr."""
        with self._guard:
            self.line("")
            self._write_message(f"{text}\n")

    def labelled(self, label: str, text: str) -> None:
        """Write a message such as ``note: text``, with each line made harmless."""
        from getmodules.util.redact import printable

        first, *more = [printable(line, _LONGEST_MESSAGE) for line in text.splitlines()] or [""]
        self.message("\n".join((f"{self._coloured(label)}: {first}", *(f"  {line}" for line in more))))

    def error(self, error: GetModulesError) -> None:
        """Write an error for people. Programs get :meth:`GetModulesError.as_json` with :meth:`json_line`."""
        self._error(error.message, error, error.address)

    def error_of_modules(self, error: GetModulesError, names: Sequence[str], address: str | None) -> None:
        """Write the one error of several modules, with their names; ``address`` if they have one in common."""
        if len(names) <= _FEW_NAMES:
            self._error(f"{', '.join(names)}: {error.message}", error, address)
        else:
            self._error(f"{len(names)} modules: {error.message}", error, address, self._wrapped("modules: ", names))

    def _error(self, said: str, error: GetModulesError, address: str | None, more: Iterable[str] = ()) -> None:
        lines = [said, *more]
        for name, value in (("address", address), ("hint", error.typed_hint), ("code", error.code)):
            if value is not None:
                lines.append(f"{name}: {value}")
        self.labelled("error", "\n".join(lines))

    def _wrapped(self, label: str, names: Sequence[str]) -> list[str]:
        """Return a list of names as indented lines that are no wider than the terminal, as far as names allow."""
        lines, indent = [label + names[0]], " " * len(label)
        for name in names[1:]:
            longer = f"{lines[-1]}, {name}"
            if cells(longer) + len("  ,") <= self.width:
                lines[-1] = longer
            else:
                lines[-1] += ","
                lines.append(indent + name)
        return lines

    def line(self, text: str) -> None:
        """Show ``text`` as the line that is updated; an empty one removes it."""
        self.block((text,) if text else ())

    def block(self, lines: Sequence[str]) -> None:
        """Show ``lines`` in place of those that were shown last; none removes them. Only if :attr:`animates`."""
        with self._guard:
            before, now = self._block, tuple(lines)
            if now == before:
                return
            self._block = now
            if len(before) <= 1 and len(now) <= 1:
                old, new = "".join(before), "".join(now)
                # Overwritten with blanks, not erased: that works on every terminal, without an escape sequence.
                blanks = " " * (cells(old) - cells(new))
                self._write_message(f"\r{new}{blanks}" if new else f"\r{blanks}\r")
            else:
                up = f"\x1b[{len(before) - 1}A" if len(before) > 1 else ""
                self._write_message(f"\r{up}\x1b[J" + "\n".join(now))

    # --------------------------------------------------------------------------------------------- details

    def _write_message(self, text: str) -> None:
        if self._stderr is None:
            return
        try:
            self._stderr.write(text)
            self._stderr.flush()
        except OSError:
            _abandon(self._stderr)
            self._stderr = None

    def _coloured(self, label: str) -> str:
        if not self.animates or self.environ.get("NO_COLOR"):
            return label
        return f"\x1b[{_COLOURS[label]}m{label}\x1b[0m" if label in _COLOURS else label


def _no_answer() -> ConfigError:
    return ConfigError("the question was not answered")


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _abandon(stream: TextIO) -> None:
    """Redirect a stream to the null device: Python would write its buffer again at the end, and complain."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # not a file of the process
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


# ------------------------------------------------------------------------------------------------- text


def harmless(text: str) -> str:
    """Make ``text`` printable without cutting it; for data."""
    from getmodules.util.redact import printable

    # Ten characters (\U0010ffff) are the longest escape.
    return printable(text, 10 * len(text) + 1)


def cells(text: str) -> int:
    """Return the number of columns that ``text`` takes in a terminal."""
    if text.isascii():
        return len(text)
    import unicodedata

    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) != 0 for character in text)


def shorten(text: str, width: int) -> str:
    """Shorten ``text`` to ``width`` columns, cutting out its middle."""
    if cells(text) <= width:
        return text
    gap = "..."[: max(width, 0)]
    left = right = ""
    start, end = 0, len(text) - 1
    while True:
        from_left = cells(left) <= cells(right)
        character = text[start] if from_left else text[end]
        if cells(left + right + character) > width - len(gap):
            return f"{left}{gap}{right}"
        if from_left:
            left, start = left + character, start + 1
        else:
            right, end = character + right, end - 1
