"""File systems without execute bits or links: those of Windows, FAT, many network shares.

Which one it is cannot be asked for everywhere, and its name does not say how it was mounted: so it is tried.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

#: Answers of a system that does not have what it was asked for; any other failure says nothing about that.
_UNSUPPORTED = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
_ANY_EXECUTE = 0o111


def keeps_modes_and_links(directory: Path) -> bool:
    """Return whether files in ``directory``, which is private, can have execute bits or none, and links can be made.

    Raises ``OSError`` if that cannot be tried. What was made stays in the directory.
    """
    file, link = directory / "file", directory / "link"
    file.touch()
    try:
        return _keeps_mode(file, 0o755) and _keeps_mode(file, 0o644) and _keeps_link(link, file.name)
    except NotImplementedError:  # Windows, before any version with links
        return False
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return False
        raise


def _keeps_mode(file: Path, mode: int) -> bool:
    os.chmod(file, mode)
    return bool(file.stat().st_mode & _ANY_EXECUTE) is bool(mode & _ANY_EXECUTE)


def _keeps_link(link: Path, target: str) -> bool:
    os.symlink(target, link)
    return os.path.islink(link) and os.readlink(link) == target
