"""What ``getmodules.toml`` and ``getmodules.lock`` mean: a project's modules, pinned, installed and verified."""
