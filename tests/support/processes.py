"""Children for tests: forked, so that they need nothing but what is loaded, and ended for certain."""

from __future__ import annotations

import ctypes
import functools
import gc
import inspect
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

#: Whoever owns nothing.
ORDINARY = 65534
#: As whom :func:`as_each_user` runs a test: root where we are root, and always somebody who is not.
USERS = ("root", "ordinary") if os.geteuid() == 0 else ("ordinary",)
SKIPPED = 77
FAILED = 99
#: Seconds. Nothing that a test has a child do takes as long.
PATIENCE = 240

_CLONE_NEWNS, _MS_BIND, _MS_REC, _MS_PRIVATE, _MS_RDONLY, _MS_REMOUNT = 0x20000, 4096, 16384, 1 << 18, 1, 32


def start(work: Callable[[], int | None]) -> int:
    """Fork a child that does ``work`` and ends with its result (0 for ``None``); its pid."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = FAILED
    # A collection would touch, and so copy, every page of the test runner's memory.
    gc.freeze()
    try:
        code = work() or 0
    except BaseException:  # noqa: BLE001 - a child must never return into the test runner
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def start_staying(work: Callable[[Callable[[], None]], None]) -> int:
    """As :func:`start`, back when ``work`` has called what it is given: there it stays until it is killed."""
    ready, told = os.pipe()

    def stay() -> None:
        os.write(told, b"!")
        signal.pause()

    child = start(lambda: work(stay))
    os.close(told)
    with open(ready, "rb") as stream:
        assert stream.read(1) == b"!", "it ended before it was ready"
    return child


def wait(pid: int) -> int:
    """The exit code of a child; negative is the signal that ended it, ours if it does not end by itself."""
    overdue = time.monotonic() + PATIENCE
    while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0:
        if time.monotonic() > overdue:
            os.kill(pid, signal.SIGKILL)
            ended = os.waitpid(pid, 0)
            break
        time.sleep(0.002)
    return os.waitstatus_to_exitcode(ended[1])


def run(work: Callable[[], int | None]) -> int:
    return wait(start(work))


def become_ordinary() -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(ORDINARY)
        os.setuid(ORDINARY)


def as_each_user(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in a child that is an ordinary user, and, where that is possible, in one that is root.

    What it does to its process (the umask, the user) ends with it.
    """

    @functools.wraps(test)
    def on_behalf(*args: object, user: str, **kwargs: object) -> None:
        def child() -> None:
            if user == "ordinary":
                become_ordinary()
            test(*args, **kwargs)

        assert run(child) == 0

    signature = inspect.signature(test)
    user = inspect.Parameter("user", inspect.Parameter.KEYWORD_ONLY)
    on_behalf.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), user]
    )
    for_each: Callable[..., None] = pytest.mark.parametrize("user", USERS)(on_behalf)
    return for_each


def in_mount_namespace(work: Callable[[], None]) -> None:
    """Do ``work`` in a child that may mount; skipped where this machine does not let us."""

    def child() -> int:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_CLONE_NEWNS) or libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None):
            return SKIPPED
        work()
        return 0

    if not sys.platform.startswith("linux"):
        pytest.skip("mount namespaces are Linux's")
    code = run(child)
    if code == SKIPPED:
        pytest.skip("this machine does not let us make a mount namespace")
    assert code == 0


def mount_tmpfs(where: Path, options: str) -> None:
    _checked(ctypes.CDLL(None, use_errno=True).mount(b"tmpfs", bytes(where), b"tmpfs", 0, options.encode()))


def bind_mount(what: Path, where: Path, *, read_only: bool = False) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.mount(bytes(what), bytes(where), None, _MS_BIND, None))
    if read_only:
        _checked(libc.mount(None, bytes(where), None, _MS_BIND | _MS_REMOUNT | _MS_RDONLY, None))


def _checked(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


#: What a program does to a file system, as Python's audit events call it.
FILE_EVENTS = frozenset(
    {
        "fcntl.flock", "open", "os.chmod", "os.listdir", "os.mkdir", "os.remove", "os.rename", "os.rmdir",
        "os.scandir",
    }
)  # fmt: skip


def strike_at(number: int, blow: Callable[[], None]) -> None:
    """In a child: ``blow`` falls instead of the ``number``-th thing that it does to the file system."""
    seen = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event in FILE_EVENTS:
            seen += 1
            if seen == number:
                blow()

    sys.addaudithook(hook)


def steps_of(work: Callable[[], int | None]) -> int:
    """How many things ``work`` does to the file system, and so how many :func:`strike_at` can hit."""
    counted, told = os.pipe()

    def child() -> int | None:
        seen = 0

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal seen
            seen += event in FILE_EVENTS

        sys.addaudithook(hook)
        code = work()
        os.write(told, b"%d" % seen)
        return code

    code = run(child)
    os.close(told)
    with open(counted, "rb") as stream:
        text = stream.read()
    assert code == 0
    return int(text)


def strike_at_line(number: int, module_directory: Path, blow: Callable[[], None]) -> None:
    """In a child: ``blow`` falls before the ``number``-th line that runs of the modules in a directory."""
    seen = 0
    prefix = str(module_directory) + os.sep

    def in_frame(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal seen
        if event == "line":
            seen += 1
            if seen == number:
                sys.settrace(None)
                blow()
        return in_frame

    def on_call(frame: FrameType, event: str, argument: object) -> Any:
        return in_frame if frame.f_code.co_filename.startswith(prefix) else None

    sys.settrace(on_call)


def remove_tree(directory: Path) -> None:
    """``rm -rf`` for trees whose directories are not writable."""
    directory.chmod(0o700)
    for path, directories, _files in os.walk(directory):
        for name in directories:
            if not Path(path, name).is_symlink():
                Path(path, name).chmod(0o700)
    shutil.rmtree(directory)
