"""The getter for OCI registries and image layouts, publishing to them, and their credentials."""
