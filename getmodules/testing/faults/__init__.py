"""The faults of the test registry, sorted by what they are about."""
