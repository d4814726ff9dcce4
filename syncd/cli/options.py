"""Options that several commands share."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from syncd.cluster.lease import LeasePlace
from syncd.daemon.election import ElectionTiming
from syncd.spec import parse_duration

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


def namespace_option(text: str) -> Callable[..., Any]:
    """Add ``--namespace``, with this help text."""
    return click.option("-n", "--namespace", metavar="NAME", help=text)


def sync_option() -> Callable[..., Any]:
    """Add ``--sync``."""
    return click.option(
        "-s", "--sync", "names", multiple=True, metavar="NAME", help="Only this Sync; may be given several times."
    )


class Selection(NamedTuple):
    """Which Syncs a command is about: those of a configuration, all or by name; or Sync objects of the cluster."""

    config: Path | None
    names: tuple[str, ...]
    namespace: str | None = None
    """Of Sync objects that are named without one."""

    def check(self) -> None:
        """Complain of what does not go together.

        Raises:
            click.UsageError: Something does not.
        """
        if self.config is not None and self.namespace:
            raise click.UsageError("--namespace is about Sync objects of the cluster: give no --config with it")
        if self.config is None and not self.names:
            raise click.UsageError("name Sync objects of the cluster, or give --config for Syncs in files")


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add names of Syncs, ``--config``, ``--sync`` and ``--namespace``; the command gets a :class:`Selection`."""

    @functools.wraps(command)
    def chosen(
        *, objects: tuple[str, ...], config: Path | None, names: tuple[str, ...], namespace: str | None, **others: Any
    ) -> Any:
        selection = Selection(config, (*objects, *names), namespace)
        selection.check()
        return command(selection=selection, **others)

    return _with(
        chosen,
        click.argument("objects", nargs=-1, metavar="[NAME]..."),
        config_option(required=False),
        sync_option(),
        namespace_option("Without --config: the namespace of bare names; default: syncd."),
    )


class ClusterChoice(NamedTuple):
    """Which cluster a command works with."""

    kubeconfig: Path | None
    context: str | None
    sandbox: bool
    default_account: str = ""
    """The ServiceAccount of Syncs that name none."""

    def refuse_account(self) -> None:
        """Complain of ``--default-service-account`` where the daemon does the work, which knows its own."""
        if self.default_account:
            raise click.UsageError("--default-service-account is about Syncs in files: give --config with it")


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


def account_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--default-service-account`` below :func:`cluster_options`, to the choice of the cluster."""

    @functools.wraps(command)
    def chosen(*, cluster: ClusterChoice, default_service_account: str, **others: Any) -> Any:
        return command(cluster=cluster._replace(default_account=default_service_account), **others)

    return _with(
        chosen,
        click.option(
            "--default-service-account",
            default="",
            metavar="NAME",
            help="In whose name Syncs are carried out that name no serviceAccountName: a ServiceAccount in the Sync's "
            "own namespace. Without it, in syncd's.",
        ),
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


class Duration(click.ParamType[float]):
    """``90s``, ``1m30s``: seconds."""

    name = "DURATION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the text."""
        try:
            seconds = parse_duration(value)
        except ValueError as error:
            self.fail(f"{value!r} is {error}", param, ctx)
        return float(str(seconds))


class ElectionChoice(NamedTuple):
    """How this replica takes part in a leader election."""

    lease: LeasePlace
    timing: ElectionTiming
    address: tuple[str, int] | None = None
    """Where the other replicas reach this one, host and port; None if they do not."""


_ELECTION_OPTIONS = (
    "advertise_address",
    "lease_name",
    "lease_namespace",
    "lease_duration",
    "lease_renew_deadline",
    "lease_retry_period",
)


def election_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--leader-elect`` and what belongs to it; the command gets an :class:`ElectionChoice`, or None without."""

    @functools.wraps(command)
    def chosen(*, leader_elect: bool, **options: Any) -> Any:
        given = {name: options.pop(name) for name in _ELECTION_OPTIONS}
        if leader_elect:
            return command(election=_election(**given), **options)
        source = click.get_current_context().get_parameter_source
        for name in _ELECTION_OPTIONS:
            if source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{name.replace('_', '-')} means nothing without --leader-elect")
        return command(election=None, **options)

    def pace(name: str, default: str, text: str) -> Callable[..., Any]:
        return click.option(name, type=Duration(), default=default, show_default=True, help=text)

    return _with(
        chosen,
        click.option(
            "--leader-elect",
            is_flag=True,
            envvar="SYNCD_LEADER_ELECT",
            help="Write only while this replica holds a Lease, so that several replicas may run.",
        ),
        click.option(
            "--advertise-address",
            type=Address(),
            help="Where the other replicas reach this one; they hand requests on to it while it leads.",
        ),
        click.option("--lease-name", default="syncd", show_default=True, help="The Lease's name."),
        click.option(
            "--lease-namespace",
            envvar="POD_NAMESPACE",
            default="syncd",
            show_default=True,
            help="The Lease's namespace; it must exist.",
        ),
        pace("--lease-duration", "15s", "How long the other replicas believe in a leader that does not renew."),
        pace("--lease-renew-deadline", "10s", "How long a leader that cannot renew goes on writing."),
        pace("--lease-retry-period", "2s", "How often a leader renews the Lease, and the others look at it."),
    )


def _election(
    *,
    advertise_address: tuple[str, int] | None,
    lease_name: str,
    lease_namespace: str,
    lease_duration: float,
    lease_renew_deadline: float,
    lease_retry_period: float,
) -> ElectionChoice:
    try:
        timing = ElectionTiming(lease_duration, lease_renew_deadline, lease_retry_period)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return ElectionChoice(LeasePlace(lease_namespace, lease_name), timing, advertise_address)


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
