"""The getter for archives and files on web servers."""
