"""HTTP with bounds: deadlines that hold, retries that end, credentials that only their origin sees."""
