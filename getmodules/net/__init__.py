"""HTTP with bounds: deadlines that hold, retries that end, credentials that stay where they belong."""
