"""Run states, transitions and shapes; the standard library only."""
