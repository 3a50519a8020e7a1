"""Leaves without a domain: frozen values, redaction, digests, strict JSON, workers."""
