"""Logs and metrics."""

from syncd.telemetry.logs import configure_logging
from syncd.telemetry.metrics import Telemetry

__all__ = ["Telemetry", "configure_logging"]
