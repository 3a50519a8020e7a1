"""Contexts for tests of what lies below the pipeline."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from getmodules.deadline import Deadline
from getmodules.limits import Limits
from getmodules.ports import Context, Progress
from getmodules.privatedir import Sweeper
from getmodules.store.visit import Visit
from getmodules.workshop import Workshops


def a_context(tmp_path: Path | None = None, **more: Any) -> Context:
    limits = more.pop("limits", Limits())
    fields: dict[str, Any] = {
        "package": "test://package",
        "limits": limits,
        "deadline": Deadline.after(limits.seconds),
        "progress": Progress(),
        "cancelled": threading.Event(),
        "credentials": lambda origin, path: None,
        "workshop": Workshops(lambda: tmp_path or Path(), Visit(None, Sweeper())).alone,
    }
    return Context(**{**fields, **more})
