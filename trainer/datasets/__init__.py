"""Readers with row-precise errors, and the documentation corpus."""
