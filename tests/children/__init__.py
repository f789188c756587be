"""Processes for tests: trainers that misbehave, and a dashboard that can be killed.

The trainers are ``trainer_that_dies``, ``trainer_that_hangs`` and ``trainer_that`` (every other
habit); ``supervisor_of`` puts a real supervisor over any of them.  What must be said of each is a row
of ``test_deaths`` or ``test_hangs``; ``docs/failures.md`` tells which post-mortem each belongs to.
"""
