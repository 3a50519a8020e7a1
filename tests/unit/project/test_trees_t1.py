"""``verify`` of what h1 does not see."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules import hash_tree
from getmodules.project import trees as subject
from getmodules.project.reports import Difference, TreeState, VerifiedModule
from tests.support.modeless import without_modes
from tests.support.projects import Project
from tests.support.snapshots import snapshot

CONTENT, EXECUTABLE, KIND, TARGET = Difference


@pytest.fixture
def installed(project: Project) -> Project:
    """``m`` has a file, its equal, an executable, and links to the first two."""
    project.write("src/net/same.tf", "# net\n")
    project.write("src/net/run.sh", "#!/bin/sh\n")
    (project.directory / "src/net/run.sh").chmod(0o755)
    (project.directory / "src/net/link").symlink_to("net.tf")
    project.wants(m="./src//net")
    assert project.client.install(project.directory).failures == ()
    return project


def _verified(project: Project) -> VerifiedModule:
    before = snapshot(project.directory)
    (found,) = subject.verify((), project.workspace(read=False)).modules
    assert snapshot(project.directory) == before
    return found


def _replace_by_link(dest: Path, name: str, target: str) -> None:
    (dest / name).unlink()
    (dest / name).symlink_to(target)


def _replace_by_file(dest: Path) -> None:
    (dest / "link").unlink()
    shutil.copy(dest / "net.tf", dest / "link")


def _edit_executable(dest: Path) -> None:
    (dest / "run.sh").write_text("# mine\n")
    (dest / "run.sh").chmod(0o644)


@pytest.mark.parametrize(
    ("edit", "changed", "seen_by_h1"),
    [
        pytest.param(lambda dest: (dest / "same.tf").chmod(0o755), {"same.tf": (EXECUTABLE,)}, False, id="chmod +x"),
        pytest.param(lambda dest: (dest / "run.sh").chmod(0o600), {"run.sh": (EXECUTABLE,)}, False, id="chmod -x"),
        pytest.param(
            lambda dest: _replace_by_link(dest, "same.tf", "net.tf"),
            {"same.tf": (KIND,)},
            False,
            id="linked to an equal",
        ),
        pytest.param(_replace_by_file, {"link": (KIND,)}, False, id="a file in the place of a link"),
        pytest.param(
            lambda dest: _replace_by_link(dest, "link", "same.tf"), {"link": (TARGET,)}, False, id="another target"
        ),
        pytest.param(
            lambda dest: _replace_by_link(dest, "link", "run.sh"), {"link": (TARGET,)}, True, id="another content"
        ),
        pytest.param(
            lambda dest: _replace_by_link(dest, "same.tf", "run.sh"), {"same.tf": (KIND,)}, True, id="a link elsewhere"
        ),
        pytest.param(
            lambda dest: (dest / "net.tf").write_text("# mine\n"),
            {"link": (CONTENT,), "net.tf": (CONTENT,)},
            True,
            id="what a link leads to",
        ),
        pytest.param(_edit_executable, {"run.sh": (CONTENT, EXECUTABLE)}, True, id="both"),
    ],
)
def test_what_differs(
    edit: Callable[[Path], object], changed: dict[str, tuple[Difference, ...]], seen_by_h1: bool, installed: Project
) -> None:
    dest = installed.directory / "modules/m"
    assert _verified(installed).state is TreeState.OK
    edit(dest)
    found = _verified(installed)
    assert (found.found, found.found_t1) == (hash_tree(dest), hash_tree(dest, "t1"))
    assert (found.h1 != found.found, found.t1 != found.found_t1) == (seen_by_h1, True)
    assert found.state is TreeState.MODIFIED
    assert found.differences is not None
    assert dict(found.differences.changed) == changed
    assert found.differences.modified == tuple(sorted(changed))
    assert (found.differences.missing, found.differences.extra) == ((), ())


@pytest.mark.parametrize("way", ["an older lock", "no modes"])
def test_h1_alone(way: str, installed: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "no modes":
        without_modes(monkeypatch)
    else:
        installed.write("getmodules.lock", installed.lock[: installed.lock.index("t1 = ")])
    dest = installed.directory / "modules/m"
    (dest / "run.sh").unlink()
    (dest / "run.sh").write_text("#!/bin/sh\n")
    _replace_by_link(dest, "same.tf", "net.tf")
    assert _verified(installed).state is TreeState.OK
    (dest / "net.tf").write_text("# mine\n")
    found = _verified(installed)
    assert found.state is TreeState.MODIFIED
    assert found.differences is not None
    assert dict(found.differences.changed) == {"link": (CONTENT,), "net.tf": (CONTENT,), "same.tf": (KIND,)}
    assert found.t1 is None if way == "an older lock" else found.t1


def test_an_empty_directory_is_no_part_of_it(installed: Project) -> None:
    (installed.directory / "modules/m/empty").mkdir()
    assert _verified(installed).state is TreeState.OK
