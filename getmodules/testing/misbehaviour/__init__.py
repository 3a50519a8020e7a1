"""The faults, sorted by what they are about. Each is a small function; its docstring is its documentation."""
