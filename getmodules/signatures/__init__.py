"""Signatures: OpenPGP keys, and documents that they signed."""
