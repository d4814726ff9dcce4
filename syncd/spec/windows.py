"""When changes may be made."""

from __future__ import annotations

import datetime as dt
from typing import Literal
from zoneinfo import ZoneInfo

import tzdata  # noqa: F401 - zoneinfo looks into it where the machine itself knows no time zones
from cronsim import CronSim, CronSimError
from pydantic import Field, field_validator

from syncd.spec.base import Model, Seconds

_SOME_DAY = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


class Window(Model):
    """A stretch of time that comes again and again, in which changes are allowed or denied."""

    kind: Literal["Allow", "Deny"]
    """Allow: outside of all windows of this kind nothing is changed. Deny: inside nothing is, whatever others allow."""
    schedule: str = Field(min_length=1, max_length=128)
    """When it begins: a cron expression of five fields, such as `0 22 * * 5`."""
    duration: Seconds = Field(ge=60)
    """How long it lasts."""
    timezone: str = Field(default="UTC", min_length=1, max_length=64)
    """The time zone of the schedule, such as `Europe/Berlin`."""
    scope: Literal["All", "Correction"] = "All"
    """What it governs: all changes, or only the correction of drift, while changes in Git are applied all the same."""

    @field_validator("schedule")
    @classmethod
    def _cron_expression(cls, schedule: str) -> str:
        if len(schedule.split()) != 5:
            raise ValueError("must have five fields: minute, hour, day of the month, month, day of the week")
        try:
            next(CronSim(schedule, _SOME_DAY))
        except CronSimError as error:
            raise ValueError(f"is not a cron expression: {error}") from None
        except StopIteration:
            raise ValueError("is a cron expression that never comes true") from None
        return schedule

    @field_validator("timezone")
    @classmethod
    def _known_timezone(cls, timezone: str) -> str:
        try:
            ZoneInfo(timezone)
        except (KeyError, ValueError, OSError):
            raise ValueError("is no time zone; write it like Europe/Berlin") from None
        return timezone
