"""Signatures: OpenPGP keys and what they signed."""
