"""Two-tower retrieval."""
