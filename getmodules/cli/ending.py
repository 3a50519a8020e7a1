"""How a call ended: the one place that turns whatever was raised into words and an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from getmodules.cli.interrupt import Interrupted
from getmodules.cli.render import Console, OutputError, ReaderGoneError, whole
from getmodules.errors import GetModulesError

#: What a shell reports of a program that SIGINT or SIGPIPE ended.
INTERRUPTED = 130
READER_GONE = 141


class InternalError(GetModulesError):
    """A bug in getmodules. Only the command line has this error; a program sees the exception itself."""


def conclude(error: BaseException, console: Console) -> int:
    """Tell how it ended; the exit code."""
    try:
        return _tell(error, console)
    except KeyboardInterrupt as interrupt:
        return _tell(interrupt, console)


def _tell(error: BaseException, console: Console) -> int:
    if isinstance(error, SystemExit):  # argparse, after it showed its help
        return error.code if isinstance(error.code, int) else 0
    if isinstance(error, ReaderGoneError):
        return READER_GONE
    if isinstance(error, KeyboardInterrupt):
        console.message("interrupted")
        _as_data({"code": "interrupted", "message": "interrupted", "hint": None, "address": None}, console)
        return error.exit_code if isinstance(error, Interrupted) else INTERRUPTED
    if not isinstance(error, GetModulesError):
        error = _unexpected(error, console)
    console.error(error)
    _as_data(error.as_json(), console)
    return error.exit_code


def _as_data(error: Mapping[str, str | None], console: Console) -> None:
    if console.json:
        with suppress(
            OutputError, ReaderGoneError
        ):  # told on stderr already; and the first error decides the exit code
            console.json_line({"error": error})


def _unexpected(error: BaseException, console: Console) -> InternalError:
    from getmodules.redact import printable, redact

    if console.verbose:
        import traceback

        text = "".join(traceback.format_exception(error))
        console.message("\n".join(whole(redact(line)) for line in text.splitlines()))
    said = printable(redact(str(error)), 500)
    return InternalError(
        f"this is a bug in getmodules: {type(error).__name__}{': ' if said else ''}{said}",
        hint="please report it with what you did" + ("" if console.verbose else "; -v shows where it happened"),
    )
