"""What a repository's URL means to Git, and how it is shown to people."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit, urlunsplit

_SCP_LIKE: Final = re.compile(r"^[A-Za-z0-9_.+-]+@([A-Za-z0-9.-]+):(.*)$")


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


class Place(NamedTuple):
    """Where a repository is, however its URL is written: https, ssh and ``user@host:path`` of one repository agree."""

    host: str
    """In lower case, without user and port; "" for any host."""
    path: str
    """In lower case, without slashes around it and without ``.git``."""

    @classmethod
    def of(cls, url: str) -> Place:
        """Take a repository's URL apart; whatever the text is, it is some place."""
        scp_like = _SCP_LIKE.match(url)
        if scp_like:
            host, path = scp_like.groups()
        else:
            try:
                parts = urlsplit(url)
                host, path = parts.hostname or "", parts.path
            except ValueError:
                host, path = "", url
        return cls(host.lower(), path.strip("/").lower().removesuffix(".git"))

    def is_meant_by(self, named: Place) -> bool:
        """Whether a server that names a place means this one; where it names no host, the end of the path decides."""
        if named.host:
            return self == named
        return bool(named.path) and f"/{self.path}".endswith(f"/{named.path}")
