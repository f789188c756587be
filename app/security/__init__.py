"""Host and origin gate, login, tokens, headers."""
