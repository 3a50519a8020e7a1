"""getmodules turns any module address into a directory that can be trusted.

::

    import getmodules

    installed = getmodules.get("github.com/acme/vpc//net?ref=v1", "modules/net")
    print(installed.pinned, installed.h1)

The functions here make a :class:`Client` for each call; a program that calls often keeps one of its own.
Nothing is printed and nothing global is changed; messages go to the logger ``getmodules``.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from getmodules.errors import (
    AddressError as AddressError,
    AuthenticationError as AuthenticationError,
    ConfigError as ConfigError,
    ContentError as ContentError,
    CorruptArchiveError as CorruptArchiveError,
    DestinationExistsError as DestinationExistsError,
    DigestMismatchError as DigestMismatchError,
    FetchError as FetchError,
    GetModulesError as GetModulesError,
    InstallError as InstallError,
    LimitExceededError as LimitExceededError,
    LockMismatchError as LockMismatchError,
    LockStaleError as LockStaleError,
    NetworkError as NetworkError,
    NotFoundError as NotFoundError,
    OfflineError as OfflineError,
    PluginConflictError as PluginConflictError,
    PluginContractError as PluginContractError,
    PluginError as PluginError,
    PluginLoadError as PluginLoadError,
    RateLimitedError as RateLimitedError,
    SentCredential as SentCredential,
    SignatureError as SignatureError,
    SubdirectoryNotFoundError as SubdirectoryNotFoundError,
    ToolMissingError as ToolMissingError,
    UnknownSchemeError as UnknownSchemeError,
    UnsafeContentError as UnsafeContentError,
    UnsupportedContentError as UnsupportedContentError,
    VerificationError as VerificationError,
)

if TYPE_CHECKING:
    from getmodules.addresses.types import (
        Arguments as Arguments,
        ModuleAddress as ModuleAddress,
        PackageAddress as PackageAddress,
    )
    from getmodules.api.hookspecs import hookimpl as hookimpl
    from getmodules.api.limits import Limits as Limits
    from getmodules.api.model import (
        Action as Action,
        Blob as Blob,
        Demand as Demand,
        Elsewhere as Elsewhere,
        Evidence as Evidence,
        Gate as Gate,
        Installed as Installed,
        Kind as Kind,
        Member as Member,
        Members as Members,
        Pin as Pin,
        Resolved as Resolved,
        Unchanged as Unchanged,
        Want as Want,
    )
    from getmodules.api.ports import (
        Context as Context,
        Credential as Credential,
        Origin as Origin,
        Phase as Phase,
        Progress as Progress,
        Shorthand as Shorthand,
    )
    from getmodules.archive.directory import members_of as members_of
    from getmodules.archive.hashing import hash_file as hash_file, hash_tree as hash_tree, hash_zip as hash_zip
    from getmodules.client import Client as Client, StrPath as StrPath
    from getmodules.getters.oci.results import Inspected as Inspected, Pushed as Pushed, Referrer as Referrer
    from getmodules.net.settings import NetSettings as NetSettings
    from getmodules.pipeline.batch import Failure as Failure, Pace as Pace
    from getmodules.pipeline.detect import Detected as Detected, Step as Step
    from getmodules.project.reports import (
        AddReport as AddReport,
        Change as Change,
        CheckReport as CheckReport,
        Difference as Difference,
        Differences as Differences,
        FailuresError as FailuresError,
        FormerDirectory as FormerDirectory,
        FormerState as FormerState,
        InstalledModule as InstalledModule,
        InstallReport as InstallReport,
        LockedReport as LockedReport,
        LockReport as LockReport,
        Moved as Moved,
        OutdatedModule as OutdatedModule,
        OutdatedReport as OutdatedReport,
        RemoveReport as RemoveReport,
        TreeState as TreeState,
        VerifiedModule as VerifiedModule,
        VerifyReport as VerifyReport,
    )
    from getmodules.util.digest import Digest as Digest
    from getmodules.util.redact import Secret as Secret

    __version__: str

logging.getLogger("getmodules").addHandler(logging.NullHandler())

#: The module of each other public name; it is imported when the name is first used, so that importing costs little.
_MODULE_OF = {
    "Action": "getmodules.api.model",
    "AddReport": "getmodules.project.reports",
    "Arguments": "getmodules.addresses.types",
    "Blob": "getmodules.api.model",
    "Change": "getmodules.project.reports",
    "CheckReport": "getmodules.project.reports",
    "Client": "getmodules.client",
    "Context": "getmodules.api.ports",
    "Credential": "getmodules.api.ports",
    "Demand": "getmodules.api.model",
    "Detected": "getmodules.pipeline.detect",
    "Difference": "getmodules.project.reports",
    "Differences": "getmodules.project.reports",
    "Digest": "getmodules.util.digest",
    "Elsewhere": "getmodules.api.model",
    "Evidence": "getmodules.api.model",
    "Failure": "getmodules.pipeline.batch",
    "FailuresError": "getmodules.project.reports",
    "FormerDirectory": "getmodules.project.reports",
    "FormerState": "getmodules.project.reports",
    "Gate": "getmodules.api.model",
    "hash_file": "getmodules.archive.hashing",
    "hash_tree": "getmodules.archive.hashing",
    "hash_zip": "getmodules.archive.hashing",
    "hookimpl": "getmodules.api.hookspecs",
    "Inspected": "getmodules.getters.oci.results",
    "Installed": "getmodules.api.model",
    "InstalledModule": "getmodules.project.reports",
    "InstallReport": "getmodules.project.reports",
    "Kind": "getmodules.api.model",
    "Limits": "getmodules.api.limits",
    "LockedReport": "getmodules.project.reports",
    "LockReport": "getmodules.project.reports",
    "Member": "getmodules.api.model",
    "Members": "getmodules.api.model",
    "members_of": "getmodules.archive.directory",
    "ModuleAddress": "getmodules.addresses.types",
    "Moved": "getmodules.project.reports",
    "NetSettings": "getmodules.net.settings",
    "Origin": "getmodules.api.ports",
    "OutdatedModule": "getmodules.project.reports",
    "OutdatedReport": "getmodules.project.reports",
    "Pace": "getmodules.pipeline.batch",
    "PackageAddress": "getmodules.addresses.types",
    "Phase": "getmodules.api.ports",
    "Pin": "getmodules.api.model",
    "Progress": "getmodules.api.ports",
    "Pushed": "getmodules.getters.oci.results",
    "Referrer": "getmodules.getters.oci.results",
    "RemoveReport": "getmodules.project.reports",
    "Resolved": "getmodules.api.model",
    "Secret": "getmodules.util.redact",
    "Shorthand": "getmodules.api.ports",
    "Step": "getmodules.pipeline.detect",
    "StrPath": "getmodules.client",
    "TreeState": "getmodules.project.reports",
    "Unchanged": "getmodules.api.model",
    "VerifiedModule": "getmodules.project.reports",
    "VerifyReport": "getmodules.project.reports",
    "Want": "getmodules.api.model",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "__version__":
        return importlib.import_module("getmodules.version").VERSION
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'getmodules' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF, "__version__"})


def detect(source: str, *, base: StrPath | None = None) -> ModuleAddress:
    """Return the canonical address of ``source``. Pure and offline; relative paths start at ``base``."""
    from getmodules.client import Client

    return Client().detect(source, base=base)


def resolve(
    source: str,
    *,
    base: StrPath | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Resolved:
    """Resolve ``source`` to a pinned address, which means the same for ever."""
    from getmodules.client import Client

    return Client().resolve(source, base=base, limits=limits, progress=progress)


def get(
    source: str,
    dest: StrPath,
    *,
    base: StrPath | None = None,
    expect: str | None = None,
    force: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Installed:
    """Install ``source`` as the directory ``dest``; see :meth:`Client.get`."""
    from getmodules.client import Client

    return Client().get(source, dest, base=base, expect=expect, force=force, limits=limits, progress=progress)
