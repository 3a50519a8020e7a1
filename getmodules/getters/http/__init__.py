"""The getter for web servers."""
