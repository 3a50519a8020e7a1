"""A faithful OCI registry for tests: :class:`getmodules.testing.Registry`, and as a program
``python -m getmodules.testing.registry``.

It serves what distribution-spec 1.1 describes, on loopback only, from memory or from OCI image layouts.
"""
