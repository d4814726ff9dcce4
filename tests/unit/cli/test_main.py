"""The command line as a whole: its commands, its help, and how it ends."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest

import syncd
from syncd.cli.exits import Exit
from syncd.cli.main import COMMANDS, cli, run
from syncd.model import InvalidInputError, Origin

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def a_command(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException | int], None]:
    """Put a command in place of ``version`` that raises or returns something."""

    def put(behaviour: BaseException | int) -> None:
        @click.command("version")
        def command() -> int:
            if isinstance(behaviour, BaseException):
                raise behaviour
            return behaviour

        monkeypatch.setattr("syncd.cli.commands.version.command", command)

    importlib.import_module("syncd.cli.commands.version")
    return put


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_in_the_list_is_there_and_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == Exit.OK
    shown = capsys.readouterr()
    assert f"Usage: syncd {name}" in shown.out
    assert shown.err == ""


def test_every_option_has_a_help_text() -> None:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        assert command.help
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.name}"


def test_the_help_lists_the_commands_in_the_order_of_their_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == Exit.OK
    shown = capsys.readouterr().out
    places = [shown.index(f"\n  {name} ") for name in COMMANDS]
    assert places == sorted(places)


def test_the_help_loads_no_command() -> None:
    code = "import sys; from syncd.cli.main import run; run(['--help']); print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert not {"kubernetes", "pydantic", "starlette", "rich.table", "git", "apscheduler"}.intersection(loaded)


@pytest.mark.parametrize("arguments", [[], ["nope"], ["version", "--nope"], ["version", "--output", "xml"]])
def test_a_wrong_command_line_is_no_difference(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == Exit.USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Usage: syncd" in shown.err


def test_an_expected_error_is_one_message_on_standard_error(
    a_command: Callable[[BaseException | int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    a_command(InvalidInputError("a key is there twice", Origin("shop.git", "web.yaml", 1, 7)))
    assert run(["version"]) == Exit.FAILURE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "error: shop.git web.yaml, document 1, line 7: a key is there twice\n"


def test_a_commands_own_exit_status_is_kept(a_command: Callable[[BaseException | int], None]) -> None:
    a_command(Exit.CHANGES)
    assert run(["version"]) == 2


def test_an_interrupt_is_no_traceback(
    a_command: Callable[[BaseException | int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    a_command(KeyboardInterrupt())
    assert run(["version"]) == Exit.INTERRUPTED
    assert capsys.readouterr().err.strip() == "error: interrupted"


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    code = "from syncd.cli.main import main; main(['--help'])"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == Exit.FAILURE


def test_version_names_what_takes_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["version", "--output", "json"]) == Exit.OK
    versions = json.loads(capsys.readouterr().out)
    assert versions["syncd"] == syncd.__version__
    assert versions["git"]
    assert versions["kustomize"].startswith("v")


def test_version_does_without_the_programs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert run(["version"]) == Exit.OK
    assert "git        there is no git on PATH\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--lease-name", "other"], "--lease-name means nothing without --leader-elect"),
        (["--leader-elect", "--lease-duration", "5s"], "must be longer"),
        (["--leader-elect", "--lease-duration", "soon"], "not a duration"),
        (["--leader-elect", "--sandbox"], "--sandbox makes one for each"),
    ],
)
def test_an_election_that_makes_no_sense_is_refused(
    options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "--config", "nowhere", *options]) == Exit.USAGE
    assert complaint in " ".join(capsys.readouterr().err.split())
