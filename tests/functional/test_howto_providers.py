"""The walk through one installation does what it says, with the release of ``tests/cases/openpgp``."""

from __future__ import annotations

import re
import shutil
import textwrap
from pathlib import Path

import pytest

from getmodules import SignatureError
from tests.support.checkout import DOCS
from tests.support.refusals import refusal
from tests.support.releases import AUTHOR_ID, RELEASE

PAGE = DOCS / "how-to" / "account-for-provider-hashes.rst"


def _run_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^\.\. code-block:: python\n\n((?:    .*\n|\n)+)", page, re.MULTILINE)
    assert len(blocks) == 4
    exec(compile("\n".join(map(textwrap.dedent, blocks)), str(PAGE), "exec"), {})


@pytest.mark.parametrize("enforced", [False, True])
def test_the_page_runs(
    enforced: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(RELEASE, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENTOFU_ENFORCE_GPG_VALIDATION", str(enforced).lower())
    _run_page()
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "signed"
    assert any(AUTHOR_ID in line for line in said)
    locked = (tmp_path / ".terraform.lock.hcl").read_text(encoding="utf-8")
    reported = [] if enforced else ["h1:47DEQpj8"]
    assert re.findall(r'"((?:h1|zh):[^"]{8})', locked) == [
        *reported, "h1:c6fGkShq", "zh:05b3abf2", "zh:26ce1a15", "zh:6bb70018",
    ]  # fmt: skip


def test_the_page_obeys_the_policy_for_signatures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(RELEASE, tmp_path, dirs_exist_ok=True)
    shutil.copy(tmp_path / "expired.asc", tmp_path / "author.asc")
    shutil.copy(tmp_path / "expired.sig", tmp_path / "author.sig")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENTOFU_ENFORCE_GPG_EXPIRATION", "true")
    refusal(SignatureError, "signature/expired-key", _run_page)


def test_the_picture_is_there_and_names_what_the_page_names() -> None:
    picture = (PAGE.parent / "provider-hashes.svg").read_text(encoding="utf-8")
    for step in ("ArchiveChecksum", "ListedChecksum", "ReportedHashes", "SignedChecksums"):
        assert step in picture
    assert AUTHOR_ID in picture
