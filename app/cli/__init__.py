"""Commands of ``python -m app`` that work on what is stored: a module each."""
