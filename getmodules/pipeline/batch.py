"""Many packages: each fetched once for all that is wanted of it, side by side, and no failure hides another.

What can be installed is installed; the rest are failures, one for each module, in the order they were asked for.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Generic, TypeVar

from getmodules.addresses.types import ModuleAddress, PackageAddress
from getmodules.addresses.url import check_url
from getmodules.api.model import Demand, Guard, Installed, Request, Resolved, Want
from getmodules.errors import GetModulesError
from getmodules.pipeline.install import install_each, resolve_address
from getmodules.pipeline.operation import Operation
from getmodules.util.values import field, valueclass

T = TypeVar("T")
#: Waiting for answers is most of the work, so there are more of them than processors.
JOBS = 24
#: What one server is asked for at the same time: more gains nothing, and some take it for an attack.
PER_HOST = 16
#: How soon an interrupt of the waiting thread is noticed.
_TICK_SECONDS = 0.1
#: Another thread is started when no package has ended for this long. A package of the cache takes less, and one thread
#: installs fifty of those in half the time of many.
_PATIENCE_SECONDS = 0.003


@valueclass
class Job:
    """One module to install. ``demands`` are on its package, ``tree_demands`` on what is installed of it."""

    name: str
    address: ModuleAddress
    dest: Path
    source: str = ""
    demands: tuple[Demand, ...] = ()
    tree_demands: tuple[Demand, ...] = ()
    force: bool = False
    guard: Guard | None = None
    #: It is only looked at: ``dest`` is a private directory.
    aside: bool = False

    @property
    def want(self) -> Want:
        return Want(
            subdir=self.address.subdir,
            dest=self.dest,
            source=self.source,
            address=self.address.display(),
            demands=self.tree_demands,
            force=self.force,
            name=self.name,
        )


@valueclass
class Failure:
    """A module that failed, by its name, and why."""

    module: str
    error: GetModulesError


@valueclass
class Outcome(Generic[T]):
    """The results by module: each is in ``done`` or in ``failures``."""

    done: Mapping[str, T] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()


@valueclass
class Pace:
    """The number of packages that are worked on at once.

    An ``executor`` of threads that the caller brings decides that itself, and stays open; it must not be the one
    that the caller itself runs in.
    """

    jobs: int = JOBS
    per_host: int = PER_HOST
    executor: Executor | None = None


def install_all(jobs: Sequence[Job], operation: Operation, pace: Pace | None = None) -> Outcome[Installed]:
    """Install every job, and return what was installed and what failed; each destination is whole, or as it was."""
    groups: dict[Hashable, list[Job]] = defaultdict(list)
    for job in jobs:
        groups[str(job.address.package), job.demands].append(job)
    tasks = [_Task(package=group[0].address.package, run=_installing(group, operation)) for group in groups.values()]
    return _run([job.name for job in jobs], tasks, operation, pace or Pace())


def resolve_all(
    modules: Mapping[str, tuple[str, ModuleAddress]], operation: Operation, pace: Pace | None = None
) -> Outcome[Resolved]:
    """Return what each module (its source as written, and the address) means today."""
    questions = {
        name: (address.package, partial(resolve_address, source, address, operation, name))
        for name, (source, address) in modules.items()
    }
    return ask_all(questions, operation, pace)


def ask_all(
    questions: Mapping[str, tuple[PackageAddress, Callable[[], T]]], operation: Operation, pace: Pace | None = None
) -> Outcome[T]:
    """Ask one question about each module's package, and return the answers."""
    tasks = [_Task(package=package, run=_asking(name, ask)) for name, (package, ask) in questions.items()]
    return _run(list(questions), tasks, operation, pace or Pace())


# ------------------------------------------------------------------------------------------------- one package

_Results = dict[str, T | GetModulesError]


@valueclass
class _Task(Generic[T]):
    package: PackageAddress
    run: Callable[[], _Results[T]]

    @property
    def host(self) -> str:
        return check_url(self.package.url).host


def _names(jobs: Sequence[Job]) -> tuple[str, ...]:
    return tuple(job.name for job in jobs)


def _installing(jobs: Sequence[Job], operation: Operation) -> Callable[[], _Results[Installed]]:
    return lambda: _install_group(jobs, operation)


def _install_group(jobs: Sequence[Job], operation: Operation) -> _Results[Installed]:
    request = Request(
        package=jobs[0].address.package,
        wants=tuple(job.want for job in jobs),
        demands=jobs[0].demands,
        guards={job.dest: job.guard for job in jobs if job.guard is not None},
        aside=all(job.aside for job in jobs),
    )
    try:
        return dict(zip(_names(jobs), install_each(request, operation), strict=True))
    except GetModulesError as error:
        return dict.fromkeys(_names(jobs), error)


def _asking(name: str, ask: Callable[[], T]) -> Callable[[], _Results[T]]:
    def run() -> _Results[T]:
        try:
            return {name: ask()}
        except GetModulesError as error:
            return {name: error}

    return run


# ------------------------------------------------------------------------------------------------ side by side


def _run(names: Sequence[str], tasks: Sequence[_Task[T]], operation: Operation, pace: Pace) -> Outcome[T]:
    operation.progress.planned(len(tasks))
    with operation.private.removed_at_end(), _executor(pace, len(tasks)) as executor:
        return _outcome(names, _Crew(tasks, operation, pace, executor).run())


def _executor(pace: Pace, tasks: int) -> AbstractContextManager[Executor]:
    if pace.executor is not None:
        return nullcontext(pace.executor)
    return ThreadPoolExecutor(max_workers=max(1, min(pace.jobs, tasks)), thread_name_prefix="getmodules")


class _Crew(Generic[T]):
    """Threads that take one task after the other; one more is started each time that none ends for a moment."""

    def __init__(self, tasks: Sequence[_Task[T]], operation: Operation, pace: Pace, executor: Executor) -> None:
        self._cancelled, self._executor = operation.cancelled, executor
        self._most = max(1, pace.jobs) if pace.executor is None else len(tasks)
        self._lock = Lock()
        self._queue = _Queue(tasks, pace.per_host)
        self._is_over = False
        self._tasks_ended = 0
        self._called: set[Future[_Results[T]]] = set()
        self._ended: SimpleQueue[Future[_Results[T]]] = SimpleQueue()

    def run(self) -> _Results[T]:
        results: _Results[T] = {}
        try:
            self._call()
            while self._called:
                ended_before = self._tasks_ended
                try:  # Looks up often enough to hear an interrupt.
                    future = self._ended.get(timeout=_PATIENCE_SECONDS if self._wants_more else _TICK_SECONDS)
                except Empty:
                    if self._tasks_ended == ended_before:
                        with suppress(RuntimeError):  # who takes no more work: those who are there do all of it
                            self._call()
                    continue
                self._called.discard(future)
                results.update(future.result())
        except BaseException:
            self._cancelled.set()
            with self._lock:
                self._is_over = True
            # What never began is none of our concern any more; its executor may never come to it.
            wait([future for future in self._called if not future.cancel()])
            raise
        return results

    @property
    def _wants_more(self) -> bool:
        """Return whether another thread would have something to do."""
        with self._lock:
            return self._queue.is_due and len(self._called) < self._most

    def _call(self) -> None:
        if self._wants_more:
            future = self._executor.submit(self._work)
            self._called.add(future)
            future.add_done_callback(self._ended.put)

    def _work(self) -> _Results[T]:
        results: _Results[T] = {}
        while (task := self._next()) is not None:
            results.update(self._done(task))
        return results

    def _done(self, task: _Task[T]) -> _Results[T]:
        try:
            return task.run()
        finally:
            with self._lock:
                self._tasks_ended += 1
                self._queue.ended(task)

    def _next(self) -> _Task[T] | None:
        with self._lock:
            return None if self._is_over else self._queue.take()


class _Queue(Generic[T]):
    """Tasks in their order, each when its host may be asked for one more: a wait for one host keeps no other one idle.

    Packages on this machine have no host, and no bound.
    """

    def __init__(self, tasks: Sequence[_Task[T]], per_host: int) -> None:
        self._per_host = max(1, per_host)
        self._busy: Counter[str] = Counter()
        self._due: deque[_Task[T]] = deque()
        self._waiting: defaultdict[str, deque[_Task[T]]] = defaultdict(deque)
        for task in tasks:
            self._waiting[task.host].append(task)
        for host in self._waiting:
            self._let_in(host)

    @property
    def is_due(self) -> bool:
        return bool(self._due)

    def take(self) -> _Task[T] | None:
        return self._due.popleft() if self._due else None

    def ended(self, task: _Task[T]) -> None:
        self._busy[task.host] -= 1
        self._let_in(task.host)

    def _let_in(self, host: str) -> None:
        waiting = self._waiting[host]
        while waiting and (not host or self._busy[host] < self._per_host):
            self._busy[host] += 1
            self._due.append(waiting.popleft())


def _outcome(names: Sequence[str], results: _Results[T]) -> Outcome[T]:
    done: dict[str, T] = {}
    failures: list[Failure] = []
    for name in names:
        result = results[name]
        if isinstance(result, GetModulesError):
            failures.append(Failure(module=name, error=result))
        else:
            done[name] = result
    return Outcome(done=done, failures=tuple(failures))
