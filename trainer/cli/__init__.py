"""The commands of ``python -m trainer``, one file each. None of them imports torch."""
