"""This machine's files, opened with suspicion: staging and publishing, removal, locks, durable writes."""
