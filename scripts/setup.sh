#!/bin/sh
# Finds a Python that Signalbox runs on and lets it set everything up.
#   scripts/setup.sh          what `make run` needs
#   scripts/setup.sh --dev    what `make test` needs as well
# PYTHON=/path/to/python chooses one by hand.
set -eu
cd "$(dirname "$0")/.."

is_supported='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))'

for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.14 python3.11 python}; do
    if "$candidate" -c "$is_supported" >/dev/null 2>&1; then
        exec "$candidate" -m scripts.set_up "$@"
    fi
done

found=$("${PYTHON:-python3}" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo none)
echo "setup: Signalbox needs Python 3.11, 3.12, 3.13 or 3.14, found ${found}. Install one (Debian: apt install python3 python3-venv; macOS: brew install python@3.13) or set PYTHON=/path/to/python." >&2
exit 1
