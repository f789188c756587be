"""What a script was when it was started: the SHA-256 of the files that say what it does."""

from __future__ import annotations

import hashlib

from trainer.scripts.declaration import FILE_NAME, Script


def fingerprint(script: Script) -> dict[str, str]:
    """SHA-256 in hexadecimal of the entry file and of the declaration, by name in the script's folder.

    Modules that the entry file imports are not part of it.

    Raises:
        OSError: a file cannot be read.
    """
    found = {}
    for name in (script.entry, FILE_NAME):
        with (script.folder / name).open("rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found
