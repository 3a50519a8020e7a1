"""The cache between runs: blobs by digest, records, working directories, and locks."""
