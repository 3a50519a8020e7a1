"""The command line: a table of commands, one small module for each, and one place that prints."""
