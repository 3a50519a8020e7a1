"""Policies as they are written: the table ``[policy]`` of a manifest, and the files that have nothing else.

::

    [policy]
    allow = ["oci://registry.acme.example/*", "https://registry.acme.example/token"]
    deny = ["*/playground/*"]
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from getmodules.addresses.comparison import Pattern
from getmodules.errors import ConfigError
from getmodules.files.durable import shown_path
from getmodules.pipeline.policy import Policy
from getmodules.project.toml import TomlTable, parse, read_text

_TABLE: Final = "policy"


def policy_of(top: TomlTable, path: Path) -> Policy | None:
    """Return the policy in the file at ``path``, whose table is ``top``; None without one."""
    table = top.table(_TABLE)
    policy = Policy(file=shown_path(path), allow=_patterns(table, "allow"), deny=_patterns(table, "deny") or ())
    table.finish()
    return policy if top.has(_TABLE) else None


def _patterns(table: TomlTable, key: str) -> tuple[Pattern, ...] | None:
    texts = table.texts(key)
    if texts is None:
        return None
    try:
        return tuple(map(Pattern.of, texts))
    except ConfigError as error:
        table.refuse(key, f"cannot be used: {error.message}", error.hint)


def read_policy(path: Path) -> Policy:
    """Read a file with one policy, which must exist."""
    text = read_text(path)
    if text is None:
        raise ConfigError(
            f"there is no {shown_path(path)}, which should have a policy",
            hint="without it nothing is asked for: is GETMODULES_POLICY right?",
        )
    top = parse(text, shown_path(path))
    policy = policy_of(top, path)
    top.finish()
    if policy is None:
        raise ConfigError(f"{shown_path(path)} has no table [policy]", hint="write [policy], and allow = […] below it")
    return policy


def read_manifest_policy(path: Path) -> Policy | None:
    """Read the policy in the manifest at ``path``, and nothing else of it; None without a manifest or a policy."""
    text = read_text(path)
    return None if text is None else policy_of(parse(text, path.name), path)
