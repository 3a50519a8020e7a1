"""What a stranger with bad intent would try of ``.git``, of t1, and of what is installed: all of it is withstood."""

from __future__ import annotations

import base64
import io
import os
import re
import struct
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from getmodules import Blob, Client, DigestMismatchError, GetModulesError, UnsafeContentError, hash_tree
from getmodules.api import Layers
from getmodules.project import lock as locking
from getmodules.project.install import InstallOptions, install
from getmodules.project.lock import Upgrade
from tests.security.test_dot_git import CONFIG, Content, a_directory, a_plugin, a_tar, on_disk, refused, tar_of
from tests.support.fakes import FakeGetter, client_with
from tests.support.gitplaces import Notices, Place, a_place
from tests.support.gitrepos import Gitlink, modules
from tests.support.projects import Project
from tests.support.refusals import refusal
from tests.support.sites import first_party
from tests.support.snapshots import snapshot
from tests.support.t1vectors import t1_on_disk

HEAD = b"ref: refs/heads/main\n"
BARE: Content = {"x/HEAD": HEAD, "x/objects/a": b"", "x/refs/b": b""}
LEFT_OUT = "'.git' in the package is left out: no .git is installed"


# -------------------------------------------------------------------------------------------------- one archive or tree


@pytest.mark.parametrize("source", [a_tar, a_plugin, a_directory])
@pytest.mark.parametrize(
    ("content", "subdir", "code"),
    [
        pytest.param(
            {"HEAD": HEAD, "objects/.git/x": b"", "refs/.git": b""}, "", "dot-git", id="directories of what is left out"
        ),
        pytest.param(
            {"a/HEAD": HEAD, "a/objects/.git/x": b"", "a/refs/z": b""}, "a*", "dot-git", id="the same, by a glob"
        ),
        pytest.param({"HEAD": HEAD, "objects": ".", "refs": "."}, "", "dot-git", id="links to where they lie"),
        pytest.param({"m": b"", "x/HEAD": "../m", "x/commondir": "../m"}, "", "dot-git", id="links of a work tree"),
        pytest.param({"m": b"", "l": ".GIT/config"}, "", "link-dangling", id="a link into a spelling"),
        pytest.param({"d": ".", ".git/config": CONFIG, "l": "d/.git/config"}, "", "link-dangling", id="by a detour"),
        pytest.param({"m": b"", "x/.GIT/y": b"", "sub/a": b""}, "sub", "dot-git", id="beside what is wanted"),
    ],
)
def test_a_repository_of_parts(source: object, content: Content, subdir: str, code: str, tmp_path: Path) -> None:
    assert callable(source)
    client, address = source(tmp_path, content)
    wanted = f"{address}//{subdir}" if subdir else address
    refused(UnsafeContentError, f"unsafe-content/{code}", client, wanted, tmp_path)


def test_hard_links_make_no_repository(tmp_path: Path) -> None:
    client, address = a_tar(tmp_path, {"m": HEAD, "x/HEAD": "=m", "x/commondir": "=m"})
    refused(UnsafeContentError, "unsafe-content/dot-git", client, address, tmp_path)


def test_names_with_detours_are_left_out(tmp_path: Path) -> None:
    content: Content = {"./.git/config": CONFIG, ".//.//.git//x": b"", ".git/h": "=m", ".git": b"x", "./.git/": None}
    client, address = a_tar(tmp_path, {"m": b"", **content, "z": "=m"})
    client.get(address, tmp_path / "dest")
    assert snapshot(tmp_path / "dest").keys() == {"m", "z"}


# --------------------------------------------------------------------------------------------------------------- layers


@pytest.mark.parametrize(
    ("layers", "arrives"),
    [
        pytest.param([{"x/HEAD": HEAD}, {"x/objects/a": b""}, {"x/refs/b": b""}], None, id="a part in each"),
        pytest.param([BARE, {"x/.wh.HEAD": b""}, {"x/HEAD": HEAD}], None, id="hidden, and back"),
        pytest.param([{"m": HEAD}, {"x/HEAD": "=m", "x/objects": None, "x/refs": None}], None, id="a hard link below"),
        pytest.param([{".git/config": CONFIG}, {"c": "=.git/config"}], None, id="a hard link into what is left out"),
        pytest.param([{"m": b""}, {".wh.x/.git/config": CONFIG}], None, id="in a whiteout"),
        pytest.param([BARE, {"x/.wh.HEAD": b""}], {"x", "x/objects", "x/objects/a", "x/refs", "x/refs/b"}, id="hidden"),
        pytest.param([BARE, {"x/.wh..wh..opq": b"", "x/m": b""}], {"x", "x/m"}, id="all of it hidden"),
        pytest.param([{".GIT/config": CONFIG, "m": b""}, {".wh..GIT": b""}], {"m"}, id="a spelling that is hidden"),
        pytest.param([{"g": ".git", "m": b""}, {"g/config": CONFIG}], {"g", "g/config", "m"}, id="through a link"),
        pytest.param(
            [{".git": b"gitdir: /x", "m": b""}, {".git/config": CONFIG}, {".git": "m"}],
            {"m"},
            id="file, directory, link",
        ),
        pytest.param([{".git/config": CONFIG, "m": b""}, {".git/.wh..wh..opq": b""}], {"m"}, id="a mark in it"),
        pytest.param([{"m": b""}, {".wh..wh.plnk/.git/config": CONFIG}], {"m"}, id="in a mark"),
    ],
)
def test_layers(layers: Sequence[Content], arrives: set[str] | None, tmp_path: Path) -> None:
    blobs = tuple(Blob(chunks=(tar_of(layer),), format="tar.gz") for layer in layers)
    client = client_with(FakeGetter(answer=Layers(blobs=blobs)))
    if arrives is None:
        with pytest.raises(UnsafeContentError):
            client.get("fake://package", tmp_path / "dest")
        assert os.listdir(tmp_path) == []
    else:
        client.get("fake://package", tmp_path / "dest")
        assert snapshot(tmp_path / "dest").keys() == arrives


def test_what_an_upper_layer_hides_is_not_told(tmp_path: Path) -> None:
    said = Notices()
    for number, upper in enumerate([{".wh..git": b""}, {"n": b""}]):
        blobs = tuple(Blob(chunks=(tar_of(each),), format="tar.gz") for each in ({".git/x": b"", "m": b""}, upper))
        client_with(FakeGetter(answer=Layers(blobs=blobs))).get("fake://p", tmp_path / f"{number}", progress=said)
        assert len(said.said) == number
    assert said.about(LEFT_OUT)


# ------------------------------------------------------------------------------------------------------------------ git


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with a_place(tmp_path / "place") as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("subdir", ["", "//r"])
def test_submodules_complete_no_repository(subdir: str, place: Place) -> None:
    commit = place.repository("lib").commit_files({"x": b""})
    place.repository().commit_files(
        {
            "r/HEAD": HEAD,
            "r/objects": Gitlink(commit),
            "r/refs": Gitlink(commit),
            ".gitmodules": modules(
                a={"path": "r/objects", "url": "../lib.git"}, b={"path": "r/refs", "url": "../lib.git"}
            ),
        }
    )
    place.refused(place.file_url() + subdir, UnsafeContentError, "unsafe-content/dot-git")


# ------------------------------------------------------------------------------------------------------------------- t1


@pytest.fixture
def source(tmp_path: Path) -> Path:
    on_disk(tmp_path / "s", {"main.tf": b"x", "sub/a": b"y", "l": "main.tf"})
    (tmp_path / "s/main.tf").chmod(0o755)
    return tmp_path / "s"


_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda t1: t1[:-2] + _ALPHABET[_ALPHABET.index(t1[-2]) ^ 1] + "=", id="bits that are not decoded"),
        pytest.param(lambda t1: t1[:-1], id="no padding"),
        pytest.param(lambda t1: f"{t1}\n", id="a newline"),
        pytest.param(lambda t1: f" {t1}", id="a blank"),
        pytest.param(lambda t1: f"T1{t1[2:]}", id="upper case"),
        pytest.param(lambda t1: f"h1{t1[2:]}", id="as h1"),
        pytest.param(lambda t1: t1 + t1, id="twice"),
        pytest.param(lambda t1: "t1:", id="an empty variable"),
        pytest.param(lambda t1: "", id="nothing"),
    ],
)
def test_only_the_very_t1_is_expected(change: object, source: Path, tmp_path: Path) -> None:
    assert callable(change)
    good = hash_tree(source, "t1")
    expect = change(good)
    if len(expect) == len(good) and expect.startswith("t1:"):
        assert base64.b64decode(expect[3:]) == base64.b64decode(good[3:]), "as some programs decode it"
    with pytest.raises(GetModulesError) as caught:
        first_party().get(str(source), tmp_path / "dest", expect=expect)
    assert caught.value.exit_code in (2, 3)
    assert not (tmp_path / "dest").exists()


@pytest.mark.parametrize("mask", [0, 0o077, 0o111, 0o777], ids=oct)
def test_the_umask_takes_no_bits(mask: int, source: Path, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        installed = first_party().get(str(source), tmp_path / "dest", expect=hash_tree(source, "t1"))
    finally:
        os.umask(before)
    assert installed.t1 == t1_on_disk(tmp_path / "dest")


_OWNER, _USER, _GROUP, _MASK, _OTHERS, _NOBODY, _ALL = 1, 2, 4, 0x10, 0x20, 65534, 0xFFFFFFFF


def _set_acl(path: Path, kind: str, owner: int, user: int, others: int) -> None:
    entries = [(_OWNER, owner, _ALL), (_USER, user, _NOBODY), (_GROUP, others, _ALL), (_MASK, user, _ALL)]
    packed = b"".join(struct.pack("<HHI", *entry) for entry in [*entries, (_OTHERS, others, _ALL)])
    try:
        os.setxattr(path, f"system.posix_acl_{kind}", struct.pack("<I", 2) + packed)
    except (OSError, AttributeError):
        pytest.skip("there are no access control lists here")


@pytest.mark.parametrize(("owner", "others"), [(7, 7), (4, 4)], ids=["more", "less"])
def test_inherited_access_changes_no_bits(owner: int, others: int, source: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    _set_acl(place, "default", owner, 7, others)
    installed = first_party().get(str(source), place / "dest")
    assert installed.t1 == hash_tree(source, "t1") == t1_on_disk(place / "dest")


def test_who_may_execute_by_an_access_list_is_seen(source: Path, tmp_path: Path) -> None:
    before = hash_tree(source, "t1")
    _set_acl(source / "sub/a", "access", 6, 7, 4)
    now = hash_tree(source, "t1")
    assert now != before
    assert first_party().get(str(source), tmp_path / "dest").t1 == now == t1_on_disk(tmp_path / "dest")


@pytest.mark.parametrize("mode", [0, 0o1, 0o10, 0o100, 0o2755, 0o4644, 0o7777], ids=oct)
def test_odd_modes_in_a_tar(mode: int, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        made = tarfile.TarInfo("a")
        made.mode = mode
        tar.addfile(made)
    (tmp_path / "a.tar").write_bytes(packed.getvalue())
    installed = first_party().get(f"{tmp_path}/a.tar", tmp_path / "dest")
    assert (tmp_path / "dest/a").stat().st_mode & 0o7777 in (0o644, 0o755)
    assert installed.t1 == t1_on_disk(tmp_path / "dest")


def test_a_file_that_has_the_h1_of_a_link_has_another_t1(tmp_path: Path) -> None:
    on_disk(tmp_path / "a", {"sub/x": b"", "l": "sub"})
    on_disk(tmp_path / "b", {"sub/x": b"", "l": b"\0link\0sub"})
    client: Client = first_party()
    expected = hash_tree(tmp_path / "a", "t1")
    assert hash_tree(tmp_path / "a") == hash_tree(tmp_path / "b")
    error = refusal(
        DigestMismatchError, "digest-mismatch", client.get, f"{tmp_path}/b", f"{tmp_path}/d", expect=expected
    )
    assert error.exit_code == 3


# -------------------------------------------------------------------------------------------- what a checkout remembers


@pytest.mark.parametrize(
    "text",
    [
        '{"modules/a": {"h1": "x", "t1": 5}}', '{"modules/a": [[["x"]]]}', '{"modules/a": []}', '{"modules/a": {}}',
        '{"modules/a": [{"h1": "x"}, "y", {"h1": "x", "t1": "z"}]}', '{"modules/a": {"h1": "\\ud800"}}',
        '{"../x": "h1:x"}', '{"a\\ud800": "h1:x"}', "[1]", "1" * 5000, '{"modules/a":' + "[" * 100_000, "\0", None,
    ],
    ids=lambda text: (text or "a pipe")[:30],
)  # fmt: skip
def test_a_forged_memory_lets_nothing_be_overwritten(text: str | None, tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.wants(a="./pkg.zip")
    install(InstallOptions(), project.workspace())
    memory = project.directory / ".getmodules/installed.json"
    if text is None:
        memory.unlink()
        os.mkfifo(memory)
    else:
        memory.write_text(text)
    project.repack(**{"main.tf": "# newer\n"})
    locking.lock(Upgrade(), project.workspace())
    project.write("modules/a/main.tf", "# mine\n")
    (failure,) = install(InstallOptions(), project.workspace()).failures
    assert failure.error.code == "destination-exists"
    assert re.match("# mine", project.read("modules/a/main.tf"))


# -------------------------------------------------------------------------------------------------------- edited locks

_OTHER = "A" * 43 + "="


@pytest.mark.parametrize(
    ("pattern", "instead", "code"),
    [
        pytest.param('(?m)^t1 = ".*"', f't1 = "t1:{_OTHER}"', "lock-mismatch", id="another t1"),
        pytest.param('(?m)^t1 = "t1:', 't1 = "h1:', "config", id="a t1 as h1"),
        pytest.param('(?ms)^h1 = ".*?"\nt1 = "(.*?)"', r'h1 = "\1"', "config", id="a t1 in the place of h1"),
        pytest.param('(?m)^t1 = ".*"', 't1 = ""', "config", id="an empty t1"),
        pytest.param('(?m)^t1 = "(.*)"', r't1 = "\1\\n"', "config", id="a newline"),
        pytest.param("(?m)^t1 = ", "T1 = ", "config", id="another key"),
        pytest.param("(?m)^archive = .*\nsize = .*\n", "", "lock-mismatch", id="no archive"),
        pytest.param('(?m)^dest = ".*"', 'dest = ".git/hooks"', "config", id="a dest in .git"),
        pytest.param(
            '(?m)^dest = (".*")', r'subdir = ".git"\ndest = \1', "subdirectory-not-found", id="a subdirectory"
        ),
    ],
)
def test_an_edited_lock_installs_nothing(pattern: str, instead: str, code: str, tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.wants(a="./pkg.zip")
    locking.lock(None, project.workspace())
    edited = re.sub(pattern, instead, project.lock)
    assert edited != project.lock
    project.write("getmodules.lock", edited)
    for frozen in (False, True):
        try:
            report = install(InstallOptions(frozen=frozen), project.workspace(read=not frozen))
            found = [failure.error.code for failure in report.failures]
        except GetModulesError as error:
            found = [error.code]
        assert found == [code]
        assert not (project.directory / "modules").exists()
        assert not (project.directory / ".git").exists()
