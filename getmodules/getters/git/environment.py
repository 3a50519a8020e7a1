"""The environment of git processes: without the caller's ``GIT_*`` variables and without getmodules' own tokens.

The token for a remote is passed by :mod:`getmodules.getters.git.connection`. git reads the user's own configuration,
because credential helpers, ``insteadOf`` and proxies are there. The settings of this module override it. They are
variables, since everybody on the machine can read a command line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from getmodules.net.credentials import TERRAFORM_TOKEN_PREFIX, TOKEN_WORD, USERNAME_PREFIX

#: The remote's name. Its URL is in the environment, so that it is never stored. The name is random, so that no
#: configuration can have it: of several URLs for one name, git would take the first.
REMOTE: Final = f"getmodules-{os.urandom(8).hex()}"

_ALWAYS: Final = (
    ("core.askPass", ""),
    # Larger objects are streamed and not read into memory.
    ("core.bigFileThreshold", "8m"),
    ("core.fsmonitor", "false"),
    # Everything that is read is hashed, so a store that a crash damaged is noticed: no need to wait for the disk.
    ("core.fsync", "none"),
    ("core.hooksPath", os.devnull),
    ("core.logAllRefUpdates", "false"),
    ("fetch.fsckObjects", "true"),
    ("fetch.prune", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.showForcedUpdates", "false"),
    # One pack, instead of a file for each object.
    ("fetch.unpackLimit", "1"),
    ("fetch.writeCommitGraph", "false"),
    ("gc.auto", "0"),
    ("http.followRedirects", "initial"),
    # The user can switch it off for single hosts, and not for all.
    ("http.sslVerify", "true"),
    ("maintenance.auto", "false"),
    ("protocol.version", "2"),
    (f"remote.{REMOTE}.tagOpt", "--no-tags"),
    ("submodule.recurse", "false"),
    ("transfer.bundleURI", "false"),
    ("transfer.fsckObjects", "true"),
)
#: Variables that git does not get: its children (ssh, proxy commands, helpers) have no use for other hosts' tokens.
_NEVER: Final = ("GIT_", USERNAME_PREFIX, TERRAFORM_TOKEN_PREFIX)
_OURS: Final = "GETMODULES_"
_VARIABLES: Final = {
    # Nothing prompts: an empty program is none, and keeps git from looking for another one.
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_TERMINAL_PROMPT": "0",
    # git reads a commit into memory as a whole, whatever size it claims. Files that are stored as a difference to
    # another one are never so large.
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
    """Return the whole environment of a process that works on ``repository`` and must not connect to anything."""
    kept = {
        name: value
        for name, value in environ.items()
        # With any words before it: a manifest may name GETMODULES_ACME_TOKEN_<host>.
        if not name.startswith(_NEVER) and not (name.startswith(_OURS) and TOKEN_WORD in name)
    }
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
    """Return the same for a process that may connect, as its settings (``protocol.*.allow``) allow."""
    return {name: value for name, value in environ.items() if name != "GIT_ALLOW_PROTOCOL"}
