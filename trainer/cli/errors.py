"""What a person did wrong on the command line."""


class UsageError(Exception):
    """The message names what is wrong and how to put it right; exit code 2."""
