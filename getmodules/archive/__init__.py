"""Read archives, and write their members safely into trees."""
