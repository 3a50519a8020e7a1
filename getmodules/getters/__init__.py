"""The first-party plugins, on the same hooks as everybody else's."""
