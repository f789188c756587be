"""The quick proof that training works here: train, kill, resume, grow, with real processes."""
