"""A small real corpus: a few hundred functions of the standard library and what they do."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

from trainer.datasets.docs_extraction import entries_of

MODULES = (
    *(
        "argparse",
        "ast",
        "base64",
        "bisect",
        "calendar",
        "configparser",
        "contextlib",
        "copy",
        "csv",
        "datetime",
    ),
    *(
        "difflib",
        "fractions",
        "functools",
        "heapq",
        "inspect",
        "ipaddress",
        "locale",
        "mailbox",
        "numbers",
        "pathlib",
    ),
    *("pickle", "platform", "pprint", "queue", "random", "shutil", "socket", "ssl", "statistics", "string"),
    *(
        "subprocess",
        "tarfile",
        "tempfile",
        "textwrap",
        "threading",
        "tokenize",
        "traceback",
        "typing",
        "uuid",
    ),
)


def write_corpus(path: Path) -> Path:
    """Write the pairs as JSONL with query, document, group and id; returns ``path``."""
    folder = Path(sysconfig.get_path("stdlib"))
    entries = {
        entry.name: {"query": entry.query, "document": entry.document, "group": module, "id": entry.name}
        for module in MODULES
        if (source := folder / f"{module}.py").is_file()
        for entry in entries_of(source.read_bytes(), module)
    }  # a property and its setter have one name: the last one counts
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries.values()), encoding="utf-8")
    return path
