"""The table of all faults of the registry.

``registry.fault("wrong-blob")`` turns one on; ``python -m getmodules.testing.registry --list-faults`` prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from getmodules.testing.faults import blobs, framing, manifests, statuses, tokens, transport, trust
from getmodules.testing.faults.fault import Fault, faults_of

_MODULES = (blobs, manifests, trust, tokens, statuses, framing, transport)

#: Name -> fault, in the order in which they are documented.
FAULTS: Mapping[str, Fault] = MappingProxyType({fault.name: fault for fault in faults_of(*_MODULES)})
