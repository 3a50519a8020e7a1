"""Files on this machine, opened with suspicion: staging and publishing, removal, locks, durable writes."""
