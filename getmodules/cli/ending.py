"""How a call ended: the one place that turns whatever was raised into words and an exit code."""

from __future__ import annotations

from getmodules.cli.interrupt import Interrupted
from getmodules.cli.render import Console, OutputError, ReaderGone, whole
from getmodules.errors import GetModulesError
from getmodules.redact import printable, redact

#: What a shell reports of a program that a signal ended: 128 and the signal's number.
SIGNALLED = 128
INTERRUPTED = SIGNALLED + 2
READER_GONE = SIGNALLED + 13


class InternalError(GetModulesError):
    """A bug in getmodules. Only the command line has this error; a program sees the exception itself."""


def conclude(error: BaseException, console: Console) -> int:
    """Tell how it ended; the exit code."""
    try:
        return _tell(error, console)
    except OutputError as unwritable:
        # The error above was told on stderr already, and it is the one that counts; this is the rest of the story.
        console.labelled("error", unwritable.message)
        return error.exit_code if isinstance(error, GetModulesError) else OutputError.exit_code
    except ReaderGone:
        return READER_GONE


def _tell(error: BaseException, console: Console) -> int:
    if isinstance(error, SystemExit):  # argparse, after it showed its help
        return error.code if isinstance(error.code, int) else 0
    if isinstance(error, ReaderGone):
        return READER_GONE
    if isinstance(error, KeyboardInterrupt):
        return _interrupted(error, console)
    if not isinstance(error, GetModulesError):
        error = _unexpected(error, console)
    console.error(error)
    return error.exit_code


def _interrupted(error: KeyboardInterrupt, console: Console) -> int:
    console.message("interrupted")
    if console.json:
        console.object(
            {"error": {"code": "interrupted", "message": "interrupted", "hint": None, "address": None}}
        )
    return SIGNALLED + error.number if isinstance(error, Interrupted) else INTERRUPTED


def _unexpected(error: BaseException, console: Console) -> InternalError:
    if console.verbose:
        import traceback

        text = "".join(traceback.format_exception(error))
        console.message("\n".join(whole(redact(line)) for line in text.splitlines()))
    said = printable(redact(str(error)), 500)
    return InternalError(
        f"this is a bug in getmodules: {type(error).__name__}{': ' if said else ''}{said}",
        hint="please report it with what you did" + ("" if console.verbose else "; -v shows where it happened"),
    )
