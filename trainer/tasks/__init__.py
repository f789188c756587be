"""Models, losses, evaluation and probes, one package per task."""
