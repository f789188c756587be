"""Which addresses messages may be posted to.  Only the standard library may be imported here."""

from __future__ import annotations

import ipaddress
from typing import Final
from urllib.parse import urlsplit

MAX_URL: Final = 2000


def trouble_with(url: str) -> str:
    """What is wrong with ``url``, as the end of a sentence that does not show it; empty when nothing is."""
    if len(url) > MAX_URL:
        return f"has {len(url)} characters, the limit is {MAX_URL}"
    if any(ord(character) <= 32 or ord(character) >= 127 for character in url):
        return "must be plain ASCII without spaces"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "cannot be read"
    if parts.scheme not in ("http", "https"):
        return "must begin with http:// or https://"
    if not host:
        return "names no host"
    if parts.username is not None or parts.password is not None:
        return "must not hold a user name or password; use the secret, which signs every message"
    return "is link-local, which is where clouds keep credentials" if is_link_local(host) else ""


def is_link_local(host: str) -> bool:
    """Whether ``host`` is an address of the local link, such as 169.254.169.254; names are not looked up."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_link_local)
