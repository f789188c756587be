"""Tests of the pages' scripts and styles."""
