"""How log lines look: JSON for machines, coloured text for people; lines of libraries in the same form as ours."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO

import orjson
import structlog
from structlog.processors import ExceptionRenderer
from structlog.tracebacks import ExceptionDictTransformer

from syncd.telemetry.masking import mask_secrets, mask_text

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

LogFormat = Literal["auto", "json", "console"]

_LOUD: Final = ("apscheduler", "asyncio", "git", "kubernetes", "urllib3", "uvicorn")
"""Libraries that tell of their ordinary work, which is of interest only to who looks for a fault."""


def configure_logging(level: str = "info", log_format: str = "auto", stream: TextIO | None = None) -> None:
    """Send all log lines of this process, ours and those of libraries, to one stream in one form.

    Each has a time (UTC), a level, the logger's name, the event, and what is bound for its thread (Sync, reconcile).

    Args:
        level: ``debug``, ``info``, ``warning`` or ``error``: the least important lines to write.
        log_format: ``json``, ``console``, or ``auto`` for the latter on a terminal only.
        stream: Where to; standard error by default.

    Raises:
        ValueError: No such level or format.
    """
    stream = stream or sys.stderr
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ValueError(f"{level!r} is not a log level")
    if log_format not in ("auto", "json", "console"):
        raise ValueError(f"{log_format!r} is not a log format")
    on_terminal = stream.isatty()
    readable = log_format == "console" or (log_format == "auto" and on_terminal)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *_common()],
            processors=_console(colors=on_terminal) if readable else _json(),
        )
    )
    logging.captureWarnings(capture=True)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)
    for name in _LOUD:
        logging.getLogger(name).setLevel(number if number <= logging.DEBUG else max(number, logging.WARNING))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_common(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,  # so that a later configuration reaches loggers that were used already
    )


def _common() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]


def _json() -> list[Processor]:
    # Local variables stay out of tracebacks: they hold whole objects, Secrets among them.
    exceptions = ExceptionRenderer(ExceptionDictTransformer(show_locals=False))
    return [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        exceptions,
        mask_secrets,
        structlog.processors.JSONRenderer(serializer=_dumps),
    ]


def _console(*, colors: bool) -> list[Processor]:
    return [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.format_exc_info,
        mask_secrets,
        _shorten_time,
        structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback, pad_event_to=0),
    ]


def _shorten_time(_logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
    """Seconds are enough for people."""
    event_dict["timestamp"] = str(event_dict["timestamp"])[:19] + "Z"
    return event_dict


def _dumps(value: Any, default: Any = None) -> str:
    try:
        return orjson.dumps(value, default=_printable, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # numbers beyond 64 bits, half a surrogate pair: json writes both
        return json.dumps(value, default=default or _printable)


def _printable(value: object) -> str:
    return mask_text(str(value))
