"""The status page, its JSON form, probes and /metrics. Read-only."""

from syncd.web.app import create_app
from syncd.web.server import ListenError, WebServer

__all__ = ["ListenError", "WebServer", "create_app"]
