"""A fault at any system call of a ``getmodules get`` from a directory and from archives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.strace import Scene, strace, sweep  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow

SOURCES = ("tree", "package.zip", "package.tar.gz")
#: How a file system or a kernel says that it cannot exchange two directories.
NO_EXCHANGE = ("inject=renameat2:error=EINVAL",)


@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("force", "more"),
    [
        pytest.param(False, (), id="absent"),
        pytest.param(True, (), id="force"),
        pytest.param(True, NO_EXCHANGE, id="force in two steps"),
    ],
)
def test_a_fault_at_any_call(source: str, force: bool, more: tuple[str, ...], tmp_path: Path) -> None:
    outcomes = sweep(Scene(tmp_path, source, force, more))
    assert outcomes["new"]
    assert outcomes["old" if force else "absent"]
