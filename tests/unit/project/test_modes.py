"""Where t1 says nothing, and that it is said once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from getmodules.archive.tree_hash import TreeHashes
from getmodules.project import modes as subject
from getmodules.project.workspace import Workspace
from getmodules.util.values import replace
from tests.support.fakes import Notices
from tests.support.modeless import without_modes
from tests.support.processes import as_each_user
from tests.support.projects import Project
from tests.support.snapshots import snapshot

LOCKED = TreeHashes("h1:1", "t1:1")


def _heard(project: Project) -> tuple[Workspace, Notices]:
    workspace, notices = project.workspace(), Notices()
    return replace(workspace, operation=replace(workspace.operation, progress=notices)), notices


@pytest.mark.parametrize(
    ("wanted", "found", "same", "same_without_modes"),
    [
        pytest.param(LOCKED, LOCKED, True, True, id="the same"),
        pytest.param(LOCKED, None, False, False, id="nothing"),
        pytest.param(LOCKED, TreeHashes("h1:2", "t1:1"), False, False, id="another h1"),
        pytest.param(LOCKED, TreeHashes("h1:1", "t1:2"), False, True, id="another t1"),
        pytest.param(TreeHashes("h1:1"), TreeHashes("h1:1", "t1:2"), True, True, id="no t1 is known"),
        pytest.param(TreeHashes("h1:1"), TreeHashes("h1:2", "t1:2"), False, False, id="no t1 is known, another h1"),
    ],
)
def test_trees_are_compared_by_what_is_kept(
    wanted: TreeHashes,
    found: TreeHashes | None,
    same: bool,
    same_without_modes: bool,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dest = project.directory / "modules"
    assert subject.is_same_tree(wanted, found, dest, project.workspace()) is same
    before = snapshot(project.directory)
    without_modes(monkeypatch)
    workspace, notices = _heard(project)
    for _ in range(2):
        assert subject.is_same_tree(wanted, found, dest, workspace) is same_without_modes
    assert len(notices.said) == (same is not same_without_modes)
    assert notices.said == [] or notices.about("no execute bits or links", "h1 alone", "not t1")
    assert snapshot(project.directory) == before


@as_each_user
def test_where_nothing_can_be_tried_what_is_seen_is_judged(place: Path) -> None:
    workspace = Project(place / "project").workspace()
    (place / "closed").mkdir(0o555)
    try:
        assert subject.keeps_t1(place / "closed", workspace)
        assert subject.keeps_t1(place / "none", workspace)
        assert os.listdir(place / "closed") == []
    finally:
        (place / "closed").chmod(0o755)
