"""Log lines, as they come out at the end."""

from __future__ import annotations

import io
import json
import logging
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from syncd.telemetry import configure_logging

if TYPE_CHECKING:
    from collections.abc import Iterator


SECRET = "hunter2"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def logging_left_as_found() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    levels = {name: logging.getLogger(name).level for name in ("apscheduler", "uvicorn", "urllib3", "git", "asyncio")}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, value in levels.items():
        logging.getLogger(name).setLevel(value)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_off_a_terminal_is_json_with_time_level_and_what_is_bound(stream: io.StringIO) -> None:
    configure_logging(stream=stream)
    structlog.contextvars.bind_contextvars(sync="syncd/shop", revision="main@4f1c2b7", reconcile="c0ffee00")
    structlog.get_logger("syncd").info("applied", action="create")
    (line,) = lines(stream)
    timestamp = line.pop("timestamp")
    assert timestamp.endswith("Z")
    assert line == {
        "event": "applied",
        "action": "create",
        "level": "info",
        "logger": "syncd",
        "sync": "syncd/shop",
        "revision": "main@4f1c2b7",
        "reconcile": "c0ffee00",
    }


def test_a_line_on_a_terminal_is_for_people() -> None:
    terminal = Terminal()
    configure_logging(stream=terminal)
    structlog.get_logger("syncd").info("applied", action="create")
    assert "applied" in terminal.getvalue()
    assert not terminal.getvalue().startswith("{")


def test_a_format_that_is_asked_for_is_the_same_everywhere(stream: io.StringIO) -> None:
    terminal = Terminal()
    configure_logging(log_format="json", stream=terminal)
    structlog.get_logger("syncd").info("applied")
    assert lines(terminal)[0]["event"] == "applied"
    configure_logging(log_format="console", stream=stream)
    structlog.get_logger("syncd").info("applied")
    assert "\x1b" not in stream.getvalue()
    assert "applied" in stream.getvalue()


def test_lines_of_libraries_come_in_the_same_form(stream: io.StringIO) -> None:
    configure_logging(stream=stream)
    structlog.contextvars.bind_contextvars(sync="syncd/shop")
    logging.getLogger("urllib3.connectionpool").warning("Retrying %s", "soon", extra={"host": "api"})
    (line,) = lines(stream)
    assert (line["event"], line["logger"], line["level"]) == ("Retrying soon", "urllib3.connectionpool", "warning")
    assert (line["sync"], line["host"]) == ("syncd/shop", "api")


def test_python_warnings_are_log_lines(stream: io.StringIO) -> None:
    configure_logging(stream=stream)
    warnings.showwarning("an old thing", DeprecationWarning, "module.py", 1)
    (line,) = lines(stream)
    assert "an old thing" in line["event"]
    assert (line["logger"], line["level"]) == ("py.warnings", "warning")


@pytest.mark.parametrize("name", ["apscheduler.scheduler", "uvicorn.error", "urllib3.connectionpool"])
def test_the_ordinary_work_of_libraries_is_told_only_at_debug(stream: io.StringIO, name: str) -> None:
    configure_logging("info", stream=stream)
    logging.getLogger(name).info("as usual")
    assert stream.getvalue() == ""
    configure_logging("debug", stream=stream)
    logging.getLogger(name).info("as usual")
    assert lines(stream)[0]["event"] == "as usual"


def test_lines_below_the_level_are_not_written(stream: io.StringIO) -> None:
    configure_logging("warning", stream=stream)
    structlog.get_logger("syncd").info("applied")
    assert stream.getvalue() == ""


def test_a_logger_that_was_used_before_follows_a_new_configuration(stream: io.StringIO) -> None:
    first = io.StringIO()
    configure_logging("error", stream=first)
    log = structlog.get_logger("syncd")
    log.info("lost")
    configure_logging("info", stream=stream)
    log.info("found")
    assert first.getvalue() == ""
    assert lines(stream)[0]["event"] == "found"


@pytest.mark.parametrize(("level", "log_format"), [("loud", "json"), ("info", "xml")])
def test_a_level_or_format_that_is_none_is_an_error(level: str, log_format: str) -> None:
    with pytest.raises(ValueError, match="is not a log"):
        configure_logging(level, log_format, io.StringIO())


def fail_with(secret: str) -> None:
    if len(secret) > 3:
        raise ValueError("it failed")


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_traceback_is_told_without_local_variables(stream: io.StringIO, log_format: str) -> None:
    configure_logging(log_format=log_format, stream=stream)
    try:
        fail_with(SECRET)
    except ValueError:
        structlog.get_logger("syncd").exception("reconcile failed")
    assert "it failed" in stream.getvalue()
    assert "fail_with" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()


@pytest.mark.parametrize("log_format", ["json", "console"])
@pytest.mark.parametrize(
    "fields",
    [
        {"password": "hunter2"},
        {"gitToken": "hunter2"},
        {"client_key_data": "hunter2"},
        {"headers": {"Authorization": "hunter2"}},
        {"object": {"kind": "Secret", "data": {"x": "hunter2"}, "stringData": {"y": "hunter2"}}},
        {"objects": [{"kind": "List", "items": [{"kind": "Secret", "data": "hunter2"}]}]},
        {"error": "cannot reach https://bot:hunter2@git.example.com/x.git"},
        {"sent": "Authorization: Bearer hunter2hunter2"},
        {"body": b"hunter2"},
        {"arguments": ("x", {"api-key": "hunter2"})},
    ],
)
def test_secrets_are_masked_wherever_they_are(stream: io.StringIO, log_format: str, fields: dict[str, Any]) -> None:
    configure_logging(log_format=log_format, stream=stream)
    structlog.get_logger("syncd").info("sent", **fields)
    assert "hunter2" not in stream.getvalue()


def test_secrets_in_lines_of_libraries_are_masked(stream: io.StringIO) -> None:
    configure_logging(stream=stream)
    logging.getLogger("git.cmd").error("fetch %s", "https://bot:hunter2@git.example.com/", extra={"token": "hunter2"})
    assert "hunter2" not in stream.getvalue()
    assert "git.example.com" in stream.getvalue()


def test_what_only_refers_to_a_secret_is_told(stream: io.StringIO) -> None:
    configure_logging(stream=stream)
    structlog.get_logger("syncd").info("x", secretRef={"name": "git"}, secret_name="db", object="shop::Secret:db")
    (line,) = lines(stream)
    assert (line["secretRef"], line["secret_name"], line["object"]) == ({"name": "git"}, "db", "shop::Secret:db")


@pytest.mark.parametrize("value", [2**70, float("nan"), "\ud83d", {1, 2}, {("a", 1): 2}, object(), ValueError("x")])
def test_no_value_keeps_a_line_from_being_written(stream: io.StringIO, value: object) -> None:
    configure_logging(log_format="json", stream=stream)
    structlog.get_logger("syncd").info("odd", value=value)
    assert lines(stream)[0]["event"] == "odd"


def test_a_value_that_holds_itself_is_cut(stream: io.StringIO) -> None:
    configure_logging(stream=stream)
    value: dict[str, Any] = {}
    value["self"] = value
    structlog.get_logger("syncd").info("deep", value=value)
    assert lines(stream)[0]["event"] == "deep"
