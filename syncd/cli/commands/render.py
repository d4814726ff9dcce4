"""``syncd render``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from syncd import kubeyaml
from syncd.cli.exits import Exit
from syncd.cli.main import complain
from syncd.cli.options import config_option, data_dir_option, output_option, sync_option
from syncd.cli.output import print_json
from syncd.cli.session import choose_syncs, open_sources
from syncd.cli.signals import stopped_by_signal
from syncd.engine.deadline import Deadline
from syncd.model import SyncdError
from syncd.plan.mask import mask_object
from syncd.telemetry.logs import configure_logging

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.engine.sources import Sources
    from syncd.model import Manifest
    from syncd.spec import Sync


@click.command("render")
@config_option()
@sync_option()
@data_dir_option()
@output_option(("yaml", "json"))
@click.option("--show-secrets", is_flag=True, help="Print the values of Secrets that were decrypted.")
def command(config: Path, names: tuple[str, ...], data_dir: Path, output: str, *, show_secrets: bool) -> int:
    """Print the manifests that Git holds, as they would be applied; needs no cluster.

    Secrets are printed as they are in Git; those of a Sync with spec.decryption without their values. With --output
    json: one List, as kubectl reads it.
    """
    configure_logging("error")  # what matters is told as a result or an error
    syncs = choose_syncs(config, names)
    status = Exit.OK
    manifests: list[Manifest] = []
    with stopped_by_signal(Exit.INTERRUPTED) as stop:
        sources = open_sources(data_dir, stop)
        for sync in syncs:
            deadline = Deadline.after(sync.spec.timeout, stop)
            try:
                found = _render(sources, sync, deadline)
                hidden = sync.spec.decryption is not None and not show_secrets
                manifests += map(_without_values, found) if hidden else found
            except SyncdError as error:
                complain(f"{sync.id}: {error}")
                status = Exit.FAILURE
    if output == "json":
        print_json({"apiVersion": "v1", "kind": "List", "items": [manifest.body for manifest in manifests]})
    else:
        for manifest in manifests:
            click.echo(f"---\n# {' '.join(str(manifest.origin).split())}\n{kubeyaml.dump(manifest.body)}", nl=False)
    return status


def _render(sources: Sources, sync: Sync, deadline: Deadline) -> tuple[Manifest, ...]:
    return sources.manifests(sync, sources.resolve(sync, deadline), deadline)


def _without_values(manifest: Manifest) -> Manifest:
    return replace(manifest, body=mask_object(manifest.body))
