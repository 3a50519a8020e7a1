"""What people call the version of a locked module."""

from __future__ import annotations

import pytest

from getmodules.project import labels as subject
from getmodules.project.lockfile import LockedModule, LockedPackage

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DIGEST = f"sha256:{'9f86d081' * 8}"
H1 = f"h1:{'A' * 43}="


@pytest.mark.parametrize(
    ("source", "package", "identity", "archive", "selected", "label"),
    [
        pytest.param("oci://h/p", f"oci://h/p?digest={DIGEST}", DIGEST, "sha256:x", "v1.2.0", "v1.2.0", id="selected"),
        pytest.param("oci://h/p?tag=1.0", f"oci://h/p?digest={DIGEST}", DIGEST, None, None, "1.0", id="tag"),
        pytest.param("git::https://h/r?ref=main", "git::https://h/r", COMMIT, None, None, "main", id="ref"),
        pytest.param(f"git::https://h/r?ref={COMMIT}", "git::https://h/r", COMMIT, None, None, COMMIT, id="a commit"),
        pytest.param("a/b/c?version=~> 1.2", "https://h/x.zip", DIGEST, DIGEST, None, "~> 1.2", id="registry"),
        pytest.param("a/b/c", "https://h/x.zip", DIGEST, DIGEST, None, None, id="registry, an archive"),
        pytest.param("git::https://h/r", "git::https://h/r", COMMIT, None, None, "0123456", id="default branch"),
        pytest.param("oci://h/p?digest=x", f"oci://h/p?digest={DIGEST}", DIGEST, None, None, "9f86d08", id="digest"),
        pytest.param("./src", "./src", H1, None, None, None, id="a path"),
        pytest.param("./p.zip", f"./p.zip?checksum={DIGEST}", DIGEST, DIGEST, None, None, id="a path to an archive"),
        pytest.param("https://h/x.zip?ref=1", "https://h/x.zip?ref=1", DIGEST, DIGEST, None, None, id="an archive"),
    ],
)  # fmt: skip
def test_labels(
    source: str, package: str, identity: str, archive: str | None, selected: str | None, label: str | None
) -> None:
    module = LockedModule(name="m", source=source, package=package, dest="modules/m", h1=H1, selected=selected)
    locked = LockedPackage(address=package, id=identity, getter="any", archive=archive)
    assert subject.version_label(module, locked) == label


@pytest.mark.parametrize(("identity", "short"), [(COMMIT, "0123456"), (DIGEST, "9f86d08"), (H1, "AAAAAAA")])
def test_short_ids(identity: str, short: str) -> None:
    assert subject.short_id(identity) == short
