"""The destinations of one request: each staged, written, judged and published, or with its own failure."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from getmodules.api.model import Action, Guard, Installed, Request, Tree, Want
from getmodules.api.ports import Context
from getmodules.archive.hashing import find_difference
from getmodules.archive.selection import Output
from getmodules.archive.writer import write_members
from getmodules.errors import ContentError, CorruptArchiveError, GetModulesError, SubdirectoryNotFoundError
from getmodules.files.os_errors import naming_full_disk
from getmodules.files.staging import Staging
from getmodules.pipeline.detect import local_root
from getmodules.pipeline.operation import Operation
from getmodules.pipeline.receive import Package
from getmodules.plugins.loader import attributed
from getmodules.util.values import replace


class Targets:
    """One target for each want of a request; no two wants have one destination."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._stagings: dict[Path, Staging] = {}
        self._accepted: dict[Path, Installed] = {}
        self._results: dict[Path, Installed | GetModulesError] = {}
        #: Writing for several targets failed, and it is not known for which of them.
        self.failed_together = False

    @contextmanager
    def staged(self, operation: Operation) -> Iterator[tuple[Want, ...]]:
        """Stage each want beside its destination, and yield those that could be; what is not published goes again."""
        # No destination is put into a package of this machine, or on top of it.
        source_root = local_root(self._request.package, operation.catalog)
        with ExitStack() as stack:
            for want in self._request.wants:
                operation.checkpoint()
                with self.failing_alone(want), naming_full_disk(want.dest.parent):
                    staging = Staging.beside(
                        want.dest,
                        operation.private,
                        force=want.force,
                        source_root=source_root,
                        compare=find_difference,
                    )
                    self._stagings[want.dest] = stack.enter_context(staging)
            yield tuple(want for want in self._request.wants if want.dest in self._stagings)

    @contextmanager
    def failing_alone(self, want: Want) -> Iterator[None]:
        """Take an error of the block as this want's result; of the only want it goes on, as the package's."""
        try:
            yield
        except GetModulesError as error:
            if len(self._request.wants) == 1:
                raise
            error.at(self._request.package.display())
            self._results[want.dest] = error

    def spare(self, name: str) -> Path:
        """Return a private path beside the first tree, for a download or a getter's working directory."""
        return self._first.spare(name)

    @property
    def first_tree(self) -> Path:
        return self._first.tree

    @property
    def _first(self) -> Staging:
        return next(iter(self._stagings.values()))

    def write(self, wants: Sequence[Want], package: Package, context: Context) -> tuple[Tree, ...]:
        """Write the members of ``package`` that each want is of into its staging."""
        roots: list[int] = []
        try:
            with (
                naming_full_disk(wants[0].dest.parent),
                attributed(*package.plugins),
                package.advised(),
            ):
                for want in wants:
                    roots.append(self._stagings[want.dest].open_tree())
                outputs = [Output(want.subdir, root) for want, root in zip(wants, roots, strict=True)]
                return write_members(package.members, outputs, context, packed_bytes=package.packed_bytes)
        except (ContentError, SubdirectoryNotFoundError) as error:
            self.failed_together = len(wants) > 1 and not isinstance(error, CorruptArchiveError)
            raise
        finally:
            for root in roots:
                os.close(root)

    def accept(self, want: Want, installed: Installed) -> None:
        """Note that the tree of ``want`` has passed the last gate."""
        self._accepted[want.dest] = installed

    def publish(self, guards: Mapping[Path, Guard]) -> None:
        """Put each accepted tree at its destination; ``guards`` may keep it from that."""
        for want in self._request.wants:
            if want.dest in self._accepted:
                with self.failing_alone(want):
                    accepted = self._accepted[want.dest]
                    # A guard writes elsewhere, and names that itself.
                    with guards.get(want.dest, nullcontext)(accepted), naming_full_disk(want.dest.parent):
                        is_new = self._stagings[want.dest].publish()
                    self._results[want.dest] = accepted if is_new else replace(accepted, action=Action.UNCHANGED)

    @property
    def published(self) -> tuple[Want, ...]:
        """The wants whose trees are at their destinations."""
        return tuple(want for want in self._request.wants if isinstance(self._results.get(want.dest), Installed))

    def results(self) -> tuple[Installed | GetModulesError, ...]:
        return tuple(self._results[want.dest] for want in self._request.wants)
