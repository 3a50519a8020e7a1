"""The walk through one installation does what it says, with the release of ``tests/cases/openpgp``."""

from __future__ import annotations

import re
import shutil
import textwrap
from pathlib import Path

import pytest

from tests.releases import AUTHOR_ID, RELEASE

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "account-for-provider-hashes.rst"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^\.\. code-block:: python\n\n((?:    .*\n|\n)+)", page, re.MULTILINE)
    assert len(blocks) == 4
    shutil.copytree(RELEASE, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(map(textwrap.dedent, blocks)), str(PAGE), "exec"), {})
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "signed"
    assert any(AUTHOR_ID in line for line in said)
    locked = (tmp_path / ".terraform.lock.hcl").read_text(encoding="utf-8")
    assert re.findall(r'"((?:h1|zh):[^"]{8})', locked) == [
        "h1:47DEQpj8", "h1:c6fGkShq", "zh:05b3abf2", "zh:26ce1a15", "zh:6bb70018",
    ]  # fmt: skip


def test_the_picture_is_there_and_names_what_the_page_names() -> None:
    picture = (PAGE.parent / "provider-hashes.svg").read_text(encoding="utf-8")
    for step in ("ArchiveChecksum", "ListedChecksum", "ReportedHashes", "SignedChecksums"):
        assert step in picture
    assert AUTHOR_ID in picture
