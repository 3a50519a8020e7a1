"""Contexts, and settings of the network, for tests of what lies below the pipeline."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

from getmodules.api.limits import Deadline, Limits
from getmodules.api.ports import Context, Progress
from getmodules.cache.session import CacheSession
from getmodules.files.private import PrivateDirectories
from getmodules.net.settings import NetSettings
from getmodules.util.values import replace

#: How a network is waited for: patient enough for a busy machine, impatient enough for a test.
QUICK = NetSettings(connect_seconds=1, timeout=1.5, rate_window_seconds=1, rate_window_bytes=2000, backoff_seconds=0.01)


def a_context(tmp_path: Path | None = None, **more: Any) -> Context:
    limits = more.pop("limits", Limits())
    fields: dict[str, Any] = {
        "package": "test://package",
        "limits": limits,
        "deadline": Deadline.after(limits.seconds),
        "progress": Progress(),
        "cancelled": threading.Event(),
        "credentials": lambda origin, path: None,
    }
    context = Context(**{**fields, **more})
    if "workshop" in more:
        return context
    session = CacheSession(None, PrivateDirectories(), lambda name: (tmp_path or Path()) / name)
    return replace(context, workshop=partial(session.workshop, context=context))
