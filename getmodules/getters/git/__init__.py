"""The getter for git repositories: git as a child process, objects read and hashed by us."""
