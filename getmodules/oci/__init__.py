"""Packages in OCI registries and image layouts."""
