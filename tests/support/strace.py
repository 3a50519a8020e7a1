"""Faults injected into a whole ``getmodules get`` with strace: one system call after another fails, or kills it.

A dry run tells how often each call is made before the work begins and how often in all, so that what is hit is
the work, and not Python's start. In CI every few calls are hit; with ``GETMODULES_FULL_SWEEP=1`` each of them.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import tarfile
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.support.commandline import COMMAND, PATIENCE, environment
from tests.support.snapshots import snapshot, write_tree
from tests.support.tools import need

#: ``--log-cli-level=INFO`` shows the numbers.
_log = logging.getLogger("tests")

FULL = os.environ.get("GETMODULES_FULL_SWEEP") == "1"
#: Of the places to hit only each n-th, in CI; a prime, so that all kinds of calls get their turn.
STRIDE = 1 if FULL else 37
#: With a fault at each of these, every outcome is met, whatever else is chosen.
DECIDING = frozenset({"mkdir", "rename", "renameat", "renameat2"})
WORKERS = os.cpu_count() or 1

#: Files of all the sizes that take ways of their own: empty, small, in one piece, in pieces of which the
#: writer thread has the last.
FILES = {
    "main.tf": b"# main\n",
    "empty": b"",
    "sub/medium": bytes(range(256)) * 32,
    "sub/deep/large": bytes(range(256)) * 5000,
}
OLD = {"old.tf": b"# old\n", "sub/old": b"# old\n"}

MAKING = ("mkdir", "mkdirat", "openat", "write", "symlinkat", "rename", "renameat2", "flock", "syncfs", "ftruncate")
REMOVING = ("unlink", "unlinkat", "rmdir", "fchmod", "fchmodat")
READING = ("read", "pread64", "getdents64", "newfstatat", "fcntl", "dup", "close", "lseek", "readlink", "ioctl")
THREADS = ("clone3", "clone", "mmap", "pipe2")

#: What each call may say, by what it does. A close that fails has closed all the same; memory runs out in mmap.
ERRORS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(MAKING, ("ENOSPC", "EACCES", "EIO", "EMFILE")),
    **dict.fromkeys(REMOVING, ("EACCES", "EIO")),
    **dict.fromkeys(READING, ("EIO",)),
    "clone3": ("EAGAIN",),
    "fcntl": ("EMFILE",),
    "dup": ("EMFILE",),
    "pipe2": ("EMFILE",),
    "ioctl": (),
    "newfstatat": ("EACCES", "EIO"),
    "close": (),
    "lseek": (),
}
CALLS = {*MAKING, *REMOVING, *READING, *THREADS}
KILL, INTERRUPT = "SIGKILL", "SIGINT"
EXIT_CODES = {0, 1}


@dataclass(frozen=True)
class Hit:
    call: str
    number: int
    fault: str

    @property
    def injection(self) -> str:
        how = f"signal={self.fault}" if self.fault in (KILL, INTERRUPT) else f"error={self.fault}"
        return f"inject={self.call}:{how}:when={self.number}"


@dataclass(frozen=True)
class Scene:
    """One directory for one run: the source, the place beside a canary, and a TMPDIR that must stay empty."""

    root: Path
    source: str
    force: bool
    more: tuple[str, ...] = field(default=())

    @property
    def place(self) -> Path:
        return self.root / "place"

    @property
    def address(self) -> str:
        return str(self.root / self.source)

    @property
    def environment(self) -> dict[str, str]:
        return environment(TMPDIR=str(self.root / "tmp"), HOME=str(self.root / "home"), PYTHONHASHSEED="0",
                           PYTHONDONTWRITEBYTECODE="1")  # fmt: skip

    def begins(self, line: str) -> bool:
        """Whether this is the first call of the work."""
        return f'"{self.place}' in line

    def judge_the_rest(self, hit: Hit, killed: bool) -> None:
        """What must hold besides, of the place where a fault hit."""

    def set_up(self) -> None:
        for name in ("place", "tmp", "home"):
            (self.root / name).mkdir(parents=True)
        (self.place / "canary").write_text("alive")
        make_source(self.root, self.source)
        if self.force:
            write_tree(self.place / "dest", OLD)

    def run(self, *injections: str, log: Path) -> tuple[int, str]:
        """The exit code (negative: the signal) and stderr of one ``get`` under strace."""
        argv: list[str | Path] = ["strace", "-f", "-y", "-qq", "-o", log]
        calls = {injection.partition("=")[2].partition(":")[0] for injection in (*injections, *self.more)}
        if injections:
            argv += ["--seccomp-bpf", "-e", f"trace={','.join(sorted(calls))}"]
        for injection in (*self.more, *injections):
            argv += ["-e", injection]
        argv += [COMMAND, "get", self.address, self.place / "dest", "-q"]
        argv += ["--force"] if self.force else []
        done = subprocess.run(argv, capture_output=True, text=True, env=self.environment, cwd="/", timeout=PATIENCE,
                              check=False, start_new_session=True)  # fmt: skip
        return done.returncode, done.stderr


def make_source(root: Path, source: str) -> None:
    write_tree(root / "tree", FILES)
    (root / "tree" / "link").symlink_to("sub/deep")
    if source == "package.zip":
        with zipfile.ZipFile(root / source, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in FILES.items():
                archive.writestr(name, content)
            link = zipfile.ZipInfo("link")
            link.external_attr = 0o120777 << 16
            archive.writestr(link, "sub/deep")
    elif source == "package.tar.gz":
        with tarfile.open(root / source, "w:gz", compresslevel=1) as archive:
            for name in ("main.tf", "empty", "sub", "link"):
                archive.add(root / "tree" / name, name)


# --------------------------------------------------------------------------------------------- what to hit

_CALL = re.compile(r"^(\d+) +(\w+)\(")


def work_of(scene: Scene, log: Path) -> dict[tuple[str, int], bool]:
    """The calls of a dry run by name and number, from the first that has to do with the destination.

    The value says whether the call is ours, by the paths that strace shows: Python's import system, which reads
    modules in the middle of the work, cannot report that the disk is broken under it. Numbers are each thread's.
    """
    scene.set_up()
    code, err = scene.run(log=log)
    assert (code, err) == (0, "")
    seen: Counter[tuple[str, str]] = Counter()
    work: dict[tuple[str, int], bool] = {}
    for line in log.read_text(errors="replace").splitlines():
        found = _CALL.match(line)
        if found is None:
            continue
        thread, call = found.groups()
        seen[thread, call] += 1
        if work or (call != "execve" and scene.begins(line)):
            work[call, seen[thread, call]] = _is_ours(scene, line) or work.get((call, seen[thread, call]), False)
    assert work
    return work


def _is_ours(scene: Scene, line: str) -> bool:
    return str(scene.root) in line or "/" not in line


def hits_of(work: dict[tuple[str, int], bool]) -> list[Hit]:
    return [
        Hit(call, number, fault)
        for (call, number), ours in sorted(work.items())
        if call in CALLS
        for fault in (KILL, INTERRUPT, *(ERRORS.get(call, ()) if ours else ()))
    ]


# --------------------------------------------------------------------------------------------- what must hold


def judge(scene: Scene, hit: Hit, new: dict[str, tuple[str, bytes]], two_steps: bool) -> str:
    """How it ended, after everything that must hold was looked at. ``new`` is a whole new tree."""
    scene.set_up()
    old = snapshot(scene.place / "dest")
    source = snapshot(scene.root / "tree")
    log = scene.root / "log"
    code, err = scene.run(hit.injection, log=log)
    struck = [line for line in log.read_text(errors="replace").splitlines() if "(INJECTED)" in line]
    killed = code == -signal.SIGKILL
    assert killed or code in (EXIT_CODES if hit.fault != INTERRUPT else (0, 130)), (hit, code, err)
    assert killed == (hit.fault == KILL) or (hit.fault == KILL and code == 0), (hit, code, err)
    assert "Traceback" not in err, (hit, err)
    # Where the number led to another call than in the dry run, it may have been one of Python's own.
    assert "this is a bug" not in err or not all(_is_ours(scene, line) for line in struck), (hit, err)
    if hit.fault == INTERRUPT:
        assert err == ("interrupted\n" if code else ""), (hit, err)
    else:
        assert killed or code == 0 or "  code: " in err, (hit, err)
    assert no_process_of(scene.root), hit
    assert snapshot(scene.root / "tmp") == {}, hit
    assert snapshot(scene.root / "home") == {}, hit
    assert snapshot(scene.root / "tree") == source, hit
    outcome = outcome_of(scene, old, new)
    assert code != 0 or outcome == "new", (hit, outcome)
    assert outcome != "absent" or not scene.force or two_steps, hit
    beside = sorted(set(os.listdir(scene.place)) - {"dest"})
    if killed:
        get_again(scene)
        assert outcome_of(scene, old, new) == "new"
        beside = sorted(set(os.listdir(scene.place)) - {"dest"})
    assert beside == ["canary"], (hit, beside, err)
    assert (scene.place / "canary").read_text() == "alive"
    scene.judge_the_rest(hit, killed)
    shutil.rmtree(scene.root)
    return outcome


def outcome_of(scene: Scene, old: dict[str, tuple[str, bytes]], new: dict[str, tuple[str, bytes]]) -> str:
    if not os.path.lexists(scene.place / "dest"):
        return "absent"
    found = snapshot(scene.place / "dest")
    assert found in (old, new), sorted(found)
    return "new" if found == new else "old"


def get_again(scene: Scene) -> None:
    """The next run cleans up; for one that finds its destination there already, --force is what people type."""
    argv = [COMMAND, "get", scene.address, scene.place / "dest", "-q", "--force"]
    done = subprocess.run(argv, capture_output=True, text=True, env=scene.environment, timeout=PATIENCE,
                          check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def no_process_of(root: Path) -> bool:
    """No process is left whose command line names this run's directory."""
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                if os.fsencode(root) in (directory / "cmdline").read_bytes():
                    return False
            except OSError:
                continue  # it ended just now
    return True


# --------------------------------------------------------------------------------------------- the sweeps


def sweep(scene: Scene, stride: int = STRIDE) -> Counter[str]:
    """How often each outcome was met; ``scene.root`` is where there is room for one directory for each run."""
    dry = replace(scene, root=scene.root / "dry")
    work = work_of(dry, scene.root / "log")
    new = snapshot(dry.place / "dest")
    chosen = (hit for number, hit in enumerate(hits_of(work)) if not number % stride or hit.call in DECIDING)
    hits = [hit for hit in chosen if not (scene.more and hit.call == "renameat2")]
    failures: list[str] = []

    def one(number_and_hit: tuple[int, Hit]) -> str:
        number, hit = number_and_hit
        try:
            return judge(replace(scene, root=scene.root / str(number)), hit, new, bool(scene.more))
        except AssertionError as failure:  # a sweep shows all of them, not just the first
            failures.append(str(failure))
            return "failed"

    with ThreadPoolExecutor(WORKERS) as pool:
        outcomes = Counter(pool.map(one, enumerate(hits)))
    _log.info("%d faults: %s", len(hits), dict(outcomes))
    assert not failures, "\n".join(failures)
    return outcomes


@pytest.fixture
def strace() -> str:
    path = need("strace")
    works = subprocess.run([path, "-qq", "-o", os.devnull, "true"], capture_output=True, check=False)
    if works.returncode:
        if os.environ.get("CI"):
            pytest.fail("strace may not trace here, and CI must not skip its tests")
        pytest.skip("strace may not trace here")
    return path
