"""Use cases; no Flask in here."""
