"""Tests of the chart definitions."""
