"""The public vocabulary: the values of the flow, the ports of plugins, their hooks and limits.

::

    from getmodules.api import Blob, Context, Pin, Want, hookimpl

Every name that the reference shows as ``getmodules.api.…`` is here. Its module is imported when the name is first
used, so that importing this package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from getmodules.addresses.mirrors import Mirrors as Mirrors
    from getmodules.addresses.types import (
        Argument as Argument,
        Arguments as Arguments,
        ModuleAddress as ModuleAddress,
        PackageAddress as PackageAddress,
        SourceAddress as SourceAddress,
    )
    from getmodules.addresses.versions import (
        Constraint as Constraint,
        Operator as Operator,
        Term as Term,
        Version as Version,
    )
    from getmodules.api.hookspecs import (
        getmodules_credentials as getmodules_credentials,
        getmodules_detectors as getmodules_detectors,
        getmodules_getters as getmodules_getters,
        getmodules_progress as getmodules_progress,
        getmodules_unpackers as getmodules_unpackers,
        getmodules_verifiers as getmodules_verifiers,
        hookimpl as hookimpl,
    )
    from getmodules.api.http import (
        Authorization as Authorization,
        Call as Call,
        HttpAnswer as HttpAnswer,
        HttpDownload as HttpDownload,
        HttpSession as HttpSession,
        NetworkSettings as NetworkSettings,
        SizedBody as SizedBody,
    )
    from getmodules.api.limits import (
        Deadline as Deadline,
        Limits as Limits,
    )
    from getmodules.api.model import (
        Action as Action,
        Archive as Archive,
        Blob as Blob,
        Demand as Demand,
        Elsewhere as Elsewhere,
        Entry as Entry,
        Evidence as Evidence,
        Gate as Gate,
        Installed as Installed,
        Kind as Kind,
        Layers as Layers,
        Member as Member,
        MemberPath as MemberPath,
        Members as Members,
        Pin as Pin,
        Request as Request,
        Resolved as Resolved,
        Shape as Shape,
        Tree as Tree,
        Unchanged as Unchanged,
        Want as Want,
    )
    from getmodules.api.ports import (
        Context as Context,
        Credential as Credential,
        Credentials as Credentials,
        Detector as Detector,
        Fetched as Fetched,
        FullGetter as FullGetter,
        Getter as Getter,
        LayerUnpacker as LayerUnpacker,
        Network as Network,
        NoNetwork as NoNetwork,
        Once as Once,
        Origin as Origin,
        Phase as Phase,
        Progress as Progress,
        ProgressSink as ProgressSink,
        Shorthand as Shorthand,
        Subject as Subject,
        Unpacker as Unpacker,
        Verifier as Verifier,
    )
    from getmodules.util.digest import Digest as Digest
    from getmodules.util.redact import Secret as Secret

#: The module of each public name.
_HOME_OF = {
    "Action": "getmodules.api.model",
    "Archive": "getmodules.api.model",
    "Argument": "getmodules.addresses.types",
    "Arguments": "getmodules.addresses.types",
    "Authorization": "getmodules.api.http",
    "Blob": "getmodules.api.model",
    "Call": "getmodules.api.http",
    "Constraint": "getmodules.addresses.versions",
    "Context": "getmodules.api.ports",
    "Credential": "getmodules.api.ports",
    "Credentials": "getmodules.api.ports",
    "Deadline": "getmodules.api.limits",
    "Demand": "getmodules.api.model",
    "Detector": "getmodules.api.ports",
    "Digest": "getmodules.util.digest",
    "Elsewhere": "getmodules.api.model",
    "Entry": "getmodules.api.model",
    "Evidence": "getmodules.api.model",
    "Fetched": "getmodules.api.ports",
    "FullGetter": "getmodules.api.ports",
    "Gate": "getmodules.api.model",
    "getmodules_credentials": "getmodules.api.hookspecs",
    "getmodules_detectors": "getmodules.api.hookspecs",
    "getmodules_getters": "getmodules.api.hookspecs",
    "getmodules_progress": "getmodules.api.hookspecs",
    "getmodules_unpackers": "getmodules.api.hookspecs",
    "getmodules_verifiers": "getmodules.api.hookspecs",
    "Getter": "getmodules.api.ports",
    "hookimpl": "getmodules.api.hookspecs",
    "HttpAnswer": "getmodules.api.http",
    "HttpDownload": "getmodules.api.http",
    "HttpSession": "getmodules.api.http",
    "Installed": "getmodules.api.model",
    "Kind": "getmodules.api.model",
    "Layers": "getmodules.api.model",
    "LayerUnpacker": "getmodules.api.ports",
    "Limits": "getmodules.api.limits",
    "Member": "getmodules.api.model",
    "MemberPath": "getmodules.api.model",
    "Members": "getmodules.api.model",
    "Mirrors": "getmodules.addresses.mirrors",
    "ModuleAddress": "getmodules.addresses.types",
    "Network": "getmodules.api.ports",
    "NetworkSettings": "getmodules.api.http",
    "NoNetwork": "getmodules.api.ports",
    "Once": "getmodules.api.ports",
    "Operator": "getmodules.addresses.versions",
    "Origin": "getmodules.api.ports",
    "PackageAddress": "getmodules.addresses.types",
    "Phase": "getmodules.api.ports",
    "Pin": "getmodules.api.model",
    "Progress": "getmodules.api.ports",
    "ProgressSink": "getmodules.api.ports",
    "Request": "getmodules.api.model",
    "Resolved": "getmodules.api.model",
    "Secret": "getmodules.util.redact",
    "Shape": "getmodules.api.model",
    "Shorthand": "getmodules.api.ports",
    "SizedBody": "getmodules.api.http",
    "SourceAddress": "getmodules.addresses.types",
    "Subject": "getmodules.api.ports",
    "Term": "getmodules.addresses.versions",
    "Tree": "getmodules.api.model",
    "Unchanged": "getmodules.api.model",
    "Unpacker": "getmodules.api.ports",
    "Verifier": "getmodules.api.ports",
    "Version": "getmodules.addresses.versions",
    "Want": "getmodules.api.model",
}

__all__ = [
    "Action",
    "Archive",
    "Argument",
    "Arguments",
    "Authorization",
    "Blob",
    "Call",
    "Constraint",
    "Context",
    "Credential",
    "Credentials",
    "Deadline",
    "Demand",
    "Detector",
    "Digest",
    "Elsewhere",
    "Entry",
    "Evidence",
    "Fetched",
    "FullGetter",
    "Gate",
    "Getter",
    "HttpAnswer",
    "HttpDownload",
    "HttpSession",
    "Installed",
    "Kind",
    "LayerUnpacker",
    "Layers",
    "Limits",
    "Member",
    "MemberPath",
    "Members",
    "Mirrors",
    "ModuleAddress",
    "Network",
    "NetworkSettings",
    "NoNetwork",
    "Once",
    "Operator",
    "Origin",
    "PackageAddress",
    "Phase",
    "Pin",
    "Progress",
    "ProgressSink",
    "Request",
    "Resolved",
    "Secret",
    "Shape",
    "Shorthand",
    "SizedBody",
    "SourceAddress",
    "Subject",
    "Term",
    "Tree",
    "Unchanged",
    "Unpacker",
    "Verifier",
    "Version",
    "Want",
    "getmodules_credentials",
    "getmodules_detectors",
    "getmodules_getters",
    "getmodules_progress",
    "getmodules_unpackers",
    "getmodules_verifiers",
    "hookimpl",
]


def __getattr__(name: str) -> Any:
    """Return a public name, and import its module the first time."""
    import importlib

    if name not in _HOME_OF:
        raise AttributeError(f"module 'getmodules.api' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
