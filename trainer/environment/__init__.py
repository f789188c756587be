"""The hardened environment of a trainer, each variable with its reason."""
