"""The plugins that come with getmodules; they use the same hooks as all others."""
