"""Two words and an underscore."""

from __future__ import annotations

import pytest

from getmodules.providers import Platform


def test_a_platform_reads_as_it_is_written() -> None:
    assert Platform.parse("linux_amd64") == Platform("linux", "amd64")
    assert str(Platform("windows", "386")) == "windows_386"


@pytest.mark.parametrize(
    "text", ["", "linux", "linux_", "_amd64", "linux_arm_7", "Linux_amd64", "linux_amd 64", "a_b\n"]
)
def test_what_is_no_platform(text: str) -> None:
    with pytest.raises(ValueError, match="two words and an underscore"):
        Platform.parse(text)


def test_a_platform_is_valid_by_construction() -> None:
    with pytest.raises(ValueError, match="two words"):
        Platform("linux/../..", "amd64")
