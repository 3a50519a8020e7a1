"""Plugins: loading each in isolation, checking what it returns, and tables of what they offer."""
