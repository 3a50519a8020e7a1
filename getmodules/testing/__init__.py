"""Testing of modules: a registry that serves packages and misbehaves on demand, and packages of every shape.

.. code-block:: python

    with Registry() as registry:
        registry.push_module("acme/vpc", "1.0.0", {"main.tf": 'output "hello" {}'})
        address = f"oci://{registry.host}/acme/vpc?tag=1.0.0"

With pytest: ``pytest_plugins = ["getmodules.testing.fixtures"]`` brings the fixture ``oci_registry``.
"""

from __future__ import annotations

from getmodules.testing.faults.fault import Fault
from getmodules.testing.faults.table import FAULTS
from getmodules.testing.packages import (
    Package,
    artifact,
    helm_chart,
    image_package,
    index_package,
    module_package,
    provider_package,
    tar_of,
    zip_of,
)
from getmodules.testing.registry.access import Access, User
from getmodules.testing.registry.call import Behaviour
from getmodules.testing.registry.server import tls_context
from getmodules.testing.registry.service import Armed, Registry
from getmodules.testing.registry.wire import Request

__all__ = [
    "FAULTS",
    "Access",
    "Armed",
    "Behaviour",
    "Fault",
    "Package",
    "Registry",
    "Request",
    "User",
    "artifact",
    "helm_chart",
    "image_package",
    "index_package",
    "module_package",
    "provider_package",
    "tar_of",
    "tls_context",
    "zip_of",
]
