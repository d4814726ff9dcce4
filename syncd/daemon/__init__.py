"""The long-running service: schedule, triggers, retries and shutdown."""

from syncd.daemon.config import load_syncs
from syncd.daemon.service import Daemon

__all__ = ["Daemon", "load_syncs"]
