"""The cache between runs: blobs by digest, records, locks, and what one run sees of them."""
