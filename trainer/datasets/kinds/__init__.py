"""Kinds of datasets, one declaration per file; read by both sides, so nothing of a reader is imported."""
