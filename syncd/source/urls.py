"""What a repository's URL means to Git, and how it is shown to people."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

_SCP_LIKE: Final = re.compile(r"^[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:")


def transport(url: str) -> str:
    """How Git reaches the URL: ``https``, ``http``, ``ssh``, ``git`` or ``file``."""
    scheme, separator, _ = url.partition("://")
    if separator:
        return scheme.lower()
    return "ssh" if _SCP_LIKE.match(url) else "file"


def allowed_protocols(url: str) -> str:
    """``GIT_ALLOW_PROTOCOL`` for the URL: its own transport and nothing else.

    So a server cannot send Git from https to anything else, and nothing ever reaches ``ext::``.
    """
    own = transport(url)
    return "http:https" if own == "http" else own


def location(url: str) -> str:
    """The URL as Git gets it: a path becomes absolute, as Git runs in another folder."""
    if transport(url) == "file" and "://" not in url:
        return str(Path(url).absolute())
    return url


def display(url: str) -> str:
    """The URL without anything that could be a credential: password, query and fragment."""
    if "://" not in url:
        return url
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0] if parts.scheme == "ssh" else ""
    return urlunsplit((parts.scheme, f"{name}{at if name else ''}{host}", parts.path, "", ""))
