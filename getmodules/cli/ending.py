"""The end of a call: the one place that turns an exception into messages and an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from getmodules.cli.interrupt import Interrupted
from getmodules.cli.render import Console, OutputError, ReaderGoneError, harmless
from getmodules.errors import GetModulesError, InstallError

#: The exit codes of programs that SIGINT or SIGPIPE ended, as shells report them.
INTERRUPTED = 130
#: Python's own message.
_NO_THREAD = "can't start new thread"
_MOST_CAUSES = 10
READER_GONE = 141


class InternalError(GetModulesError):
    """A bug in getmodules. Only the command line has this error; a program sees the exception itself."""


def report_ending(error: BaseException, console: Console) -> int:
    """Report ``error`` and return the exit code."""
    try:
        return _report(error, console)
    except KeyboardInterrupt as interrupt:
        return _report(interrupt, console)


def _report(error: BaseException, console: Console) -> int:
    error = _find_interrupt(error) or error
    if isinstance(error, SystemExit):  # argparse, after it showed its help
        return error.code if isinstance(error.code, int) else 0
    if isinstance(error, ReaderGoneError):
        return READER_GONE
    if isinstance(error, KeyboardInterrupt):
        console.message("interrupted")
        _print_json({"code": "interrupted", "message": "interrupted", "hint": None, "address": None}, console)
        return error.exit_code if isinstance(error, Interrupted) else INTERRUPTED
    if not isinstance(error, GetModulesError):
        error = _internal_error(error, console)
    console.error(error)
    _print_json(error.as_json(), console)
    return error.exit_code


def _find_interrupt(error: BaseException) -> KeyboardInterrupt | None:
    """Return the interrupt among the causes: before 3.12 Python hides one in a RuntimeError while a class is made."""
    cause = error.__cause__
    for _ in range(_MOST_CAUSES):  # causes may form a cycle
        if cause is None or isinstance(cause, Interrupted):
            return cause
        cause = cause.__cause__
    return None


def _print_json(error: Mapping[str, object], console: Console) -> None:
    if console.json:
        # On failure it is already reported on stderr, and the first error decides the exit code.
        with suppress(OutputError, ReaderGoneError):
            console.json_line({"error": error})


def _internal_error(error: BaseException, console: Console) -> GetModulesError:
    from getmodules.util.redact import printable, redact

    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return InstallError(
            "this machine gives us no more threads",
            hint="allow more processes: ulimit -u, or the limit of the container (pids)",
        )
    if console.verbose:
        import traceback

        text = "".join(traceback.format_exception(error))
        console.message("\n".join(harmless(redact(line)) for line in text.splitlines()))
    said = printable(redact(str(error)), 500)
    return InternalError(
        f"this is a bug in getmodules: {type(error).__name__}{': ' if said else ''}{said}",
        hint="please report it with what you did" + ("" if console.verbose else "; -v shows where it happened"),
    )
