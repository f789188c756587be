"""Processes for tests: trainers that misbehave, and a dashboard that can be killed."""
