"""What a breach of the contract raises."""


class ProtocolError(ValueError):
    """A line, batch or file breaks the contract; the message names field and position."""
