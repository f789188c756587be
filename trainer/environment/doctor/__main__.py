"""One probe, in this process: ``python -m trainer.environment.doctor MODULE SURROUNDINGS LIMIT_S``.

Its checks are the only thing on standard output; whatever libraries print
goes to standard error, and so do the stacks of all threads shortly before the limit.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import math
import os
import signal
import sys

from trainer.environment.doctor.surroundings import Surroundings

SPARE_S = 1.0  # the stacks are written this long before the limit
ALARM_S = 5  # and this long after it the kernel ends the probe, should its runner be gone


def main(arguments: list[str]) -> None:
    """Run the probe and write its checks as one JSON list."""
    name, surroundings, limit_s = arguments
    signal.alarm(math.ceil(float(limit_s)) + ALARM_S)
    faulthandler.enable()
    faulthandler.dump_traceback_later(max(0.1, float(limit_s) - SPARE_S))
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    module = importlib.import_module(name)
    checks = module.look(Surroundings.from_text(surroundings))
    with os.fdopen(answers, "w", encoding="utf-8") as out:
        json.dump([check.to_json() for check in checks], out)
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(sys.argv[1:])
