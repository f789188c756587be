"""A browser page whose script errors, policy violations and dialogs are caught."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import BrowserContext, ConsoleMessage, FloatRect, Locator, Page

VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy violation: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""
NETWORK = ("Failed to load resource", "WebSocket connection to", "net::ERR_")


@dataclass
class WatchedPage:
    """A page and what went wrong in it."""

    page: Page
    errors: list[str] = field(default_factory=list)
    may_lose_its_server: bool = False

    def hear(self, message: ConsoleMessage) -> None:
        """Note an error on the console; a lost server is one only where nobody has killed it."""
        if message.type != "error":
            return
        if self.may_lose_its_server and any(word in message.text for word in NETWORK):
            return
        self.errors.append(message.text)


@contextmanager
def watch(context: BrowserContext) -> Iterator[WatchedPage]:
    """Open a page, and make sure at the end that nothing went wrong in it."""
    page = context.new_page()
    watched = WatchedPage(page)
    page.add_init_script(VIOLATIONS)
    page.on("console", watched.hear)
    page.on("pageerror", lambda error: watched.errors.append(f"page error: {error.stack}"))
    page.on("dialog", lambda dialog: watched.errors.append(f"dialog: {dialog.message}"))
    try:
        yield watched
        assert "\n".join(watched.errors) == ""
    finally:
        page.close()


def box_of(shown: Locator) -> FloatRect:
    """Where something stands on the screen, and how large it is."""
    box = shown.bounding_box()
    assert box, f"{shown} is not shown"
    return box
