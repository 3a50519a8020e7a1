"""How files are opened here, as far as a system can.

Windows has no O_NOFOLLOW, O_NONBLOCK and O_DIRECTORY, and alone needs O_BINARY. That no child inherits what is open
is Python's own care, without O_CLOEXEC.
"""

from __future__ import annotations

import os
from typing import Final

NOFOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK: Final[int] = getattr(os, "O_NONBLOCK", 0)
_BINARY: Final[int] = getattr(os, "O_BINARY", 0)

#: Whatever is there: a fifo is not waited for.
READ: Final[int] = os.O_RDONLY | NONBLOCK | _BINARY
READ_NO_LINK: Final[int] = READ | NOFOLLOW
#: With O_WRONLY or O_RDWR: a file that must not be there yet.
NEW: Final[int] = os.O_CREAT | os.O_EXCL | NOFOLLOW | _BINARY
#: A file that is there to be locked.
LOCK: Final[int] = os.O_RDWR | os.O_CREAT | NOFOLLOW
DIRECTORY: Final[int] = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
