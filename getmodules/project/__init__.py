"""Projects: the modules that ``getmodules.toml`` wants and ``getmodules.lock`` pins, installed and verified."""
