"""Archives in, one safely written tree out."""
