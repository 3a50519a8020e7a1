"""Git repositories: fetched into a bare store by git, read and verified by us, and never checked out."""
