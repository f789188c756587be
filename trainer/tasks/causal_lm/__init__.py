"""Training a causal language model."""
