"""A desk for the dashboard's tests, in JSON lines: ``python -m tests.children.desk_that HOW``."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

FOUND = {"kind": "labels", "label": "a", "labels": [{"label": "a", "probability": 1.0}]}
CHECKPOINT = {"step": 5, "epoch": 0, "file": "step_000005.pt", "best": True, "last": True}
FINDING = {
    "id": "cuda_oom",
    "cause": "c",
    "remedy": "r",
    "confidence": 0.9,
    "lines": [],
    "source": "",
    "rungs": [],
}


def main() -> None:
    """Answer every line as asked for on the command line."""
    how = sys.argv[1]
    for line in sys.stdin:
        request = json.loads(line)
        say({"id": request["id"], "tell": "reading the weights", "fraction": 0.25})
        if how == "waits":
            time.sleep(600)
        elif how == "leaves":
            sys.exit("it cannot be")
        elif how == "answers":
            result = {"answer": FOUND, "checkpoint": CHECKPOINT, "open_s": 0.0, "answer_s": 0.0}
            say({"id": request["id"], "result": result})
        else:
            error = {
                "kind": how,
                "message": "m.",
                "field": "",
                "hint": "h",
                "findings": [FINDING],
                "lines": ["l"],
            }
            say({"id": request["id"], "error": error})


def say(word: dict[str, Any]) -> None:
    """One JSON line."""
    sys.stdout.write(json.dumps(word) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
