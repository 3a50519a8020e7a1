"""Two and twenty real processes that install at one destination at the same time, and what a reader sees meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.commandline import COMMAND, PATIENCE, environment
from tests.support.fakes import zip_of
from tests.support.snapshots import snapshot

pytestmark = pytest.mark.slow

#: Enough files that no two of them write in one breath.
COUNT = 40


def content(number: int) -> dict[str, bytes]:
    return {f"{name % 4}/{name}.tf": b"%d\n" % number * 50 for name in range(COUNT)}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "canary").write_text("alive")
    return tmp_path


def race(here: Path, sources: list[Path], *, force: bool, dest: str = "dest") -> list[tuple[int, str]]:
    """One process for each source, let go at once: their exit codes, and what each says."""
    barrier, gate = os.pipe()
    # The shell waits for the gate to close and then becomes the command, so that all start together.
    children = [
        subprocess.Popen(
            ["sh", "-c", 'read -r x; exec "$@" </dev/null', "sh", COMMAND, "get", source, dest, "--json",
             *(["--force"] if force else [])],
            stdin=barrier, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=here / "work",
            env=environment(TMPDIR=str(here / "tmp")),
        )
        for source in sources
    ]  # fmt: skip
    os.close(barrier)
    os.close(gate)
    ended = []
    for child in children:
        out, err = child.communicate(timeout=PATIENCE)
        assert "Traceback" not in err
        ended.append((child.returncode, out))
    return ended


def codes(ended: list[tuple[int, str]]) -> list[str]:
    return sorted("ok" if code == 0 else json.loads(out)["error"]["code"] for code, out in ended)


def is_one_of(directory: Path, count: int) -> None:
    """The directory holds one whole content and no mix."""
    found = {name: data for name, (mode, data) in snapshot(directory).items() if mode[0] == "-"}
    assert found in [content(number) for number in range(count)]


def sources(here: Path, count: int, *, same: bool) -> list[Path]:
    made = []
    for number in range(count):
        path = here / f"{number}.zip"
        path.write_bytes(zip_of(content(0 if same else number)))
        made.append(path)
    return made


same_or_not = pytest.mark.parametrize("same", [True, False], ids=["same content", "different content"])
two_and_twenty = pytest.mark.parametrize("count", [2, 20], ids=["two", "twenty"])


@same_or_not
@two_and_twenty
@pytest.mark.parametrize("dest", ["dest", "new/parents/dest"], ids=["beside", "with new parents"])
def test_without_force_exactly_one_wins(count: int, same: bool, dest: str, here: Path) -> None:
    ended = race(here, sources(here, count, same=same), force=False, dest=dest)
    if same:  # the others find just what they bring
        actions = sorted(json.loads(out)["action"] for code, out in ended if code == 0)
        assert actions == ["installed"] + ["unchanged"] * (count - 1)
    else:
        assert codes(ended) == ["destination-exists"] * (count - 1) + ["ok"]
    where = here / "work" / dest
    is_one_of(where, count)
    assert sorted(os.listdir(here / "work")) == sorted(["canary", Path(dest).parts[0]])
    assert [name for name in os.listdir(where.parent) if name != "canary"] == ["dest"]


@same_or_not
@two_and_twenty
@pytest.mark.parametrize("occupied", [True, False], ids=["occupied", "absent"])
def test_with_force_all_win_and_the_last_stays(count: int, same: bool, occupied: bool, here: Path) -> None:
    if occupied:
        (here / "work" / "dest").mkdir()
        (here / "work" / "dest" / "old").write_text("old")
    ended = race(here, sources(here, count, same=same), force=True)
    assert codes(ended) == ["ok"] * count
    is_one_of(here / "work" / "dest", count)
    assert sorted(os.listdir(here / "work")) == ["canary", "dest"]


def test_those_that_are_refused_do_not_disturb_one_that_is_at_work(here: Path) -> None:
    """Half of them bring a broken archive: nothing that they do removes what the others are making."""
    good = sources(here, 6, same=False)
    broken = here / "broken.zip"
    broken.write_bytes(zip_of(content(0))[:-10])
    ended = race(here, [*good, *[broken] * 6], force=True)
    assert codes(ended) == ["corrupt-archive"] * 6 + ["ok"] * 6
    is_one_of(here / "work" / "dest", 6)
    assert sorted(os.listdir(here / "work")) == ["canary", "dest"]


def test_a_reader_never_sees_a_mix(here: Path) -> None:
    """Whoever holds the directory open reads one content, however often it is replaced."""
    made = sources(here, 2, same=False)
    assert codes(race(here, made[:1], force=False)) == ["ok"]
    child = subprocess.Popen(
        ["sh", "-c", 'for i in 1 2 3; do for s in "$@"; do "$0" get "$s" dest -q --force || exit 1; done; done',
         COMMAND, *made],
        cwd=here / "work", env=environment(),
    )  # fmt: skip
    looks = 0
    while child.poll() is None:
        held = os.open(here / "work" / "dest", os.O_RDONLY)  # would fail in a gap
        try:
            seen = {_first_line(held, f"{name % 4}/{name}.tf") for name in range(COUNT)}
            assert len(seen - {None}) <= 1
            looks += 1
        finally:
            os.close(held)
    assert child.returncode == 0
    assert looks


def _first_line(directory: int, name: str) -> bytes | None:
    """``None`` where the replaced directory is being removed already."""
    try:
        file = os.open(name, os.O_RDONLY, dir_fd=directory)
    except FileNotFoundError:
        return None
    try:
        return os.read(file, 4096).partition(b"\n")[0]
    finally:
        os.close(file)
