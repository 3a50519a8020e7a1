"""The version: here, and nowhere else. ``setup.cfg`` reads it without importing anything."""

VERSION = "0.1.0"
