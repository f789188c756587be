"""Asking a trained model: the process that answers, and what an answerer of a recipe has to be."""
