"""Where the browser tests find a Chromium, and how a machine without one gets it.

Only the standard library may be imported here: the set-up runs this before anything is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HOW_TO_GET_ONE = (
    "no Chromium found: run 'apt-get install chromium-headless-shell' (Debian, Ubuntu), "
    "'.venv/bin/playwright install chromium' (anywhere), or set SIGNALBOX_CHROMIUM to its path"
)

# the shell without a window needs about half the processor's time, so it comes first
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_MAC_APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
_PLAYWRIGHT_FOLDERS = (".cache/ms-playwright", "Library/Caches/ms-playwright")
_PLAYWRIGHT_BINARIES = ("chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/*.app/Contents/MacOS/*")


def find_chromium() -> Path | None:
    """The Chromium to test with: SIGNALBOX_CHROMIUM, one on the PATH, or Playwright's own."""
    chosen = os.environ.get("SIGNALBOX_CHROMIUM")
    if chosen:
        return Path(chosen) if Path(chosen).is_file() else None
    for name in _NAMES:
        if found := shutil.which(name):
            return Path(found)
    candidates = [Path(path) for path in _MAC_APPLICATIONS]
    for folder in _PLAYWRIGHT_FOLDERS:
        for pattern in _PLAYWRIGHT_BINARIES:
            candidates += sorted((Path.home() / folder).glob(pattern), reverse=True)
    return next((path for path in candidates if path.is_file()), None)


def install_chromium() -> None:
    """Get a Chromium if this machine lets us: Debian's package as root, else Playwright's download.

    Never fails: without a browser the browser tests fail, and say how to get one.
    """
    if find_chromium() is not None:
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print("setup: installing Chromium for the browser tests with apt-get", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        install = ["install", "-y", "-qq", "--no-install-recommends"]
        for arguments in (["update", "-qq"], [*install, "chromium-headless-shell"], [*install, "chromium"]):
            if find_chromium() is not None:
                break
            # apt prints hundreds of lines; they matter only when it fails, and then apt repeats the reason
            subprocess.run(["apt-get", *arguments], env=environment, stdout=subprocess.DEVNULL, check=False)
    if find_chromium() is None:
        print("setup: installing Chromium for the browser tests with Playwright", flush=True)
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    if find_chromium() is None:
        print(f"setup: {HOW_TO_GET_ONE}", file=sys.stderr)


if __name__ == "__main__":
    install_chromium()
