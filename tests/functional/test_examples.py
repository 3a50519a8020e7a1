"""The examples that README.rst installs are what their script makes from the tree."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.support.checkout import ROOT

EXAMPLES = ROOT / "examples"


def test_the_archive_is_the_one_that_the_script_makes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "make-examples", tmp_path], check=True)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made == {name: (EXAMPLES / name).read_bytes() for name in ("network-1.0.0.zip", "SHA256SUMS")}


def test_the_archive_holds_the_package() -> None:
    package = EXAMPLES / "network"
    files = {path.relative_to(package).as_posix(): path for path in package.rglob("*") if path.is_file()}
    with zipfile.ZipFile(EXAMPLES / "network-1.0.0.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            name: path.read_bytes() for name, path in files.items()
        }
