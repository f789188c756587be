"""Tests, at the same paths as the code."""
