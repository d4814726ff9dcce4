"""Options that several commands share."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def output_option(choices: Sequence[str] = ("text", "json")) -> Callable[..., Any]:
    """Add ``--output``; the first choice is the default."""
    return click.option(
        "-o", "--output", type=click.Choice(choices), default=choices[0], show_default=True, help="How to print."
    )


def config_option(*, required: bool = True) -> Callable[..., Any]:
    """Add ``--config``."""
    return click.option(
        "-c",
        "--config",
        "config",
        type=click.Path(path_type=Path),
        required=required,
        help="A file of Sync documents, or a folder of such files.",
    )


def sync_option() -> Callable[..., Any]:
    """Add ``--sync``."""
    return click.option(
        "-s", "--sync", "names", multiple=True, metavar="NAME", help="Only this Sync; may be given several times."
    )


class ClusterChoice(NamedTuple):
    """Which cluster a command works with."""

    kubeconfig: Path | None
    context: str | None
    sandbox: bool


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--kubeconfig``, ``--context`` and ``--sandbox``; the command gets them as one :class:`ClusterChoice`."""

    @functools.wraps(command)
    def chosen(*, kubeconfig: Path | None, context: str | None, sandbox: bool, **others: Any) -> Any:
        if sandbox and (kubeconfig or context):
            raise click.UsageError("--sandbox is a cluster of its own: give no --kubeconfig and no --context with it")
        return command(cluster=ClusterChoice(kubeconfig, context, sandbox), **others)

    return _with(
        chosen,
        click.option(
            "--kubeconfig",
            type=click.Path(dir_okay=False, path_type=Path),
            help="How to reach the cluster; default: as kubectl finds it.",
        ),
        click.option("--context", metavar="NAME", help="Which context of the kubeconfig; default: its current one."),
        click.option("--sandbox", is_flag=True, help="Use a new, empty Kubernetes API server in this process."),
    )


def data_dir_option() -> Callable[..., Any]:
    """Add ``--data-dir``."""
    return click.option(
        "--data-dir",
        type=click.Path(file_okay=False, resolve_path=True, path_type=Path),
        envvar="SYNCD_DATA_DIR",
        default=lambda: Path.home() / ".cache" / "syncd",
        show_default="~/.cache/syncd",
        help="Where mirrors of repositories are kept. May be lost at any time.",
    )


class Address(click.ParamType[tuple[str, int]]):
    """``HOST:PORT``, ``:PORT`` for every address of this machine, ``[IPV6]:PORT``."""

    name = "HOST:PORT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Take the text apart."""
        if not isinstance(value, str):
            return (str(value[0]), int(value[1]))
        host, colon, port = value.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
            self.fail(f"{value!r} is not an address; write it like 127.0.0.1:8080", param, ctx)
        return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)  # noqa: S104 - what ":8080" asks for


def listen_option() -> Callable[..., Any]:
    """Add ``--listen``."""
    return click.option(
        "--listen",
        type=Address(),
        default="127.0.0.1:8080",
        show_default=True,
        help="Where the status page, the JSON API, probes and metrics are served. Without a host: everywhere.",
    )


def webhook_option() -> Callable[..., Any]:
    """Add ``--webhook-secret-file``."""
    return click.option(
        "--webhook-secret-file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Let Git servers that know the secret in this file call POST /hooks/... when somebody pushes.",
    )


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--log-level`` and ``--log-format``."""
    return _with(
        command,
        click.option(
            "--log-level",
            type=click.Choice(("debug", "info", "warning", "error")),
            default="info",
            show_default=True,
            help="The least important lines to log.",
        ),
        click.option(
            "--log-format",
            type=click.Choice(("auto", "json", "console")),
            default="auto",
            show_default=True,
            help="console is for people; auto is that on a terminal, else json.",
        ),
    )


def _with(command: Callable[..., Any], *options: Callable[..., Any]) -> Callable[..., Any]:
    """Add options in the order in which they are to be listed."""
    for option in reversed(options):
        command = option(command)
    return command
