"""Read addresses of modules, without any I/O: their grammar, URLs, arguments, mirrors and versions."""
