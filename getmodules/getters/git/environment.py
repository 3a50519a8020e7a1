"""What every git process is told, and what it is not: nothing of the caller's ``GIT_*`` reaches it, nor any token that
is getmodules' own. The one that is for this remote is handed over by :mod:`getmodules.getters.git.connection`.

The user's own configuration is read, because credential helpers, ``insteadOf`` and proxies are there. What follows
stands above it: variables, since a command line can be read by everybody on the machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from getmodules.getters.registry.host import PREFIX as TF_TOKEN_PREFIX
from getmodules.net.credentials import TOKEN_PREFIX, USERNAME_PREFIX

#: The remote's name. Its URL comes by the environment, so that it is never stored; and git takes the first URL that
#: a name has, so that it is one which nobody's configuration can have.
REMOTE: Final = f"getmodules-{os.urandom(8).hex()}"

_ALWAYS: Final = (
    ("core.askPass", ""),
    # Larger objects are passed on in pieces instead of being held in memory.
    ("core.bigFileThreshold", "8m"),
    ("core.fsmonitor", "false"),
    # What is read is hashed, so that a store which a crash left torn is noticed: no need to wait for the disk.
    ("core.fsync", "none"),
    ("core.hooksPath", os.devnull),
    ("core.logAllRefUpdates", "false"),
    ("fetch.fsckObjects", "true"),
    ("fetch.prune", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.showForcedUpdates", "false"),
    # Always one pack, and never a file for each object.
    ("fetch.unpackLimit", "1"),
    ("fetch.writeCommitGraph", "false"),
    ("gc.auto", "0"),
    ("http.followRedirects", "initial"),
    ("http.lowSpeedLimit", "1024"),
    ("http.lowSpeedTime", "30"),
    # Per host it can be switched off, and is the user's word there; for all hosts it cannot.
    ("http.sslVerify", "true"),
    ("maintenance.auto", "false"),
    ("protocol.version", "2"),
    (f"remote.{REMOTE}.tagOpt", "--no-tags"),
    ("submodule.recurse", "false"),
    ("transfer.bundleURI", "false"),
    ("transfer.fsckObjects", "true"),
)
#: What git starts (ssh, its proxy commands, helpers) has no use for the tokens of other hosts.
_NEVER: Final = ("GIT_", TOKEN_PREFIX, USERNAME_PREFIX, TF_TOKEN_PREFIX)
_VARIABLES: Final = {
    # Nothing ever asks: an empty program is none, and keeps git from looking for the next.
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_TERMINAL_PROMPT": "0",
    # A commit is held in memory as a whole, of whatever size it says it has; no file that comes as a difference to
    # another one is so large.
    "GIT_ALLOC_LIMIT": "1g",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LANGUAGE": "C",
    "LC_ALL": "C",
}


def environment(
    environ: Mapping[str, str],
    repository: Path,
    *,
    settings: Iterable[tuple[str, str]] = (),
    more: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The whole environment of a process that works on ``repository``, and connects to nothing."""
    kept = {name: value for name, value in environ.items() if not name.startswith(_NEVER)}
    every = (*_ALWAYS, *settings)
    numbered: dict[str, str] = {"GIT_CONFIG_COUNT": str(len(every))}
    for number, (name, value) in enumerate(every):
        numbered[f"GIT_CONFIG_KEY_{number}"] = name
        numbered[f"GIT_CONFIG_VALUE_{number}"] = value
    return {
        **kept,
        **_VARIABLES,
        "GIT_DIR": str(repository),
        "GIT_ALLOW_PROTOCOL": "",
        **numbered,
        **(more or {}),
    }


def connecting(environ: dict[str, str]) -> dict[str, str]:
    """The same for a process that may connect, as its settings (``protocol.*.allow``) say."""
    return {name: value for name, value in environ.items() if name != "GIT_ALLOW_PROTOCOL"}
