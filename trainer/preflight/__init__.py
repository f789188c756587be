"""What can be told of a run before it starts, as one list of verdicts."""
