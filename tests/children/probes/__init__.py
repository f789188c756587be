"""Probes that come to grief."""
