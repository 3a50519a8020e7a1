"""The getter for OCI registries and layouts; publishing to them and their credentials."""
