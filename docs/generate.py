# ruff: noqa: INP001  # a script beside the pages that it writes, not a package
"""Writes the reference pages that are generated from the code: `make docs`. A test holds them fresh."""

from __future__ import annotations

import types
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from pydantic import BaseModel

from syncd.cli.exits import Exit
from syncd.cli.main import cli
from syncd.spec import Sync, parse_duration
from syncd.spec.status import SyncObjectStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo

REFERENCE = Path(__file__).parent / "reference"

SYNC_HEAD = """\
# The Sync document

One unit of reconciliation: a source, a path in it, how to render it, where it goes, and its policies. The smallest one:

```yaml
apiVersion: syncd.dev/v1alpha1
kind: Sync
metadata:
  name: shop
spec:
  source:
    git:
      url: https://git.example.com/shop/prod.git
```

`syncd run --config PATH` reads every such document in a file, or in the YAML files of a folder. Without `--config` the
same documents are objects of the cluster, and what comes of one is in its [status](#status-of-a-sync-object);
[Syncs as objects](../guide/sync-objects.md) says how to work with them. Unknown fields are errors, and every error of a
document is reported, not only the first; `syncd validate PATH...` does so without asking anybody.

Durations are written like `30s`, `5m` or `1h30m`. Generated from `syncd/spec/`.

| field | type | default | meaning |
| --- | --- | --- | --- |
"""


STATUS_HEAD = """
## Status of a Sync object

Written only when something in it has changed: an uneventful reconcile writes nothing. Lists have a bound, counts are of
all. The conditions are those that `kubectl wait` and kstatus understand.

| field | type | default | meaning |
| --- | --- | --- | --- |
"""

CLI_HEAD = """\
# The command line

`syncd COMMAND --help` says the same. Data goes to standard output, with `--output json` as JSON; errors and logs go to
standard error. Generated from `syncd/cli/`.

## Exit statuses

| status | meaning |
| --- | --- |
"""

EXIT_MEANINGS = {
    Exit.OK: "It went well. A daemon that was told to stop by SIGTERM or Ctrl-C ends with this too.",
    Exit.FAILURE: "It failed, wholly or in part; what went wrong is on standard error.",
    Exit.CHANGES: "`syncd plan --exit-code`: something would change.",
    Exit.USAGE: "The command line is wrong.",
    Exit.INTERRUPTED: "Ctrl-C ended it before it was done.",
}


def pages() -> dict[Path, str]:
    """Return the generated pages: their paths and what they say."""
    return {REFERENCE / "sync.md": sync_page(), REFERENCE / "cli.md": cli_page()}


def cli_page() -> str:
    """Return the reference of the command line."""
    context = click.Context(cli, info_name="syncd", **cli.context_settings)
    statuses = "".join(f"| {int(status)} | {EXIT_MEANINGS[status]} |\n" for status in Exit)
    return CLI_HEAD + statuses + "".join(_command_section(context, name) for name in cli.list_commands(context))


def _command_section(parent: click.Context, name: str) -> str:
    command = cli.get_command(parent, name)
    if command is None:
        raise LookupError(name)
    if isinstance(command, click.Group):
        group = click.Context(command, parent=parent, info_name=name)
        return "".join(_section(command.commands[sub], group, f"{name} {sub}") for sub in sorted(command.commands))
    return _section(command, parent, name)


def _section(command: click.Command, parent: click.Context, name: str) -> str:
    context = click.Context(command, parent=parent, info_name=name)
    usage = " ".join((f"syncd {name}", *command.collect_usage_pieces(context)))
    options = [record for item in command.get_params(context) if (record := item.get_help_record(context))]
    rows = "".join(f"| `{_cell(option)}` | {_cell(text)} |\n" for option, text in options)
    help_text = "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n"))
    return f"\n## {name}\n\n    {usage}\n\n{help_text}\n\n| option | meaning |\n| --- | --- |\n{rows}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def sync_page() -> str:
    """Return the reference of the Sync document."""
    return SYNC_HEAD + _table(rows()) + STATUS_HEAD + _table(_rows_of(SyncObjectStatus, "status"))


def _table(found: Iterator[tuple[str, str, str, str]]) -> str:
    return "".join(f"| `{path}` | {kind} | {default} | {text} |\n" for path, kind, default, text in found)


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield path, type, default and meaning of every field below metadata and spec."""
    for name in ("metadata", "spec"):
        model = Sync.model_fields[name].annotation
        yield from _rows_of(model, name)


def _rows_of(model: Any, prefix: str) -> Iterator[tuple[str, str, str, str]]:
    for name, field in model.model_fields.items():
        path = f"{prefix}.{field.alias or name}"
        inner, is_list = _inner(field.annotation)
        is_model = isinstance(inner, type) and issubclass(inner, BaseModel)
        if is_model and inner.model_fields:
            text = (inner.__doc__ or "").split("\n\n")
            yield path + ("[]" if is_list else ""), "list" if is_list else "object", _default(field), _cell(text[0])
            yield from _rows_of(inner, path + ("[]" if is_list else ""))
        else:
            kind = "`{}`" if is_model else _type_name(inner, field)
            yield path, f"list of {kind}s" if is_list else kind, _default(field), _cell(field.description or "")


def _inner(annotation: Any) -> tuple[Any, bool]:
    """Take away what wraps a type: Annotated, None, tuple; the flag says whether it was a tuple."""
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin is typing.Annotated:
        return _inner(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return _inner(next(item for item in arguments if item is not type(None)))
    if origin is tuple:
        return _inner(arguments[0])[0], True
    return annotation, False


def _type_name(annotation: Any, field: FieldInfo) -> str:
    if typing.get_origin(annotation) is Literal:
        return " or ".join(f"`{value}`" for value in typing.get_args(annotation))
    if any(getattr(item, "func", None) is parse_duration for item in field.metadata):
        return "duration"
    words = {str: "string", int: "number", float: "number", bool: "boolean", dict: "map"}
    return words[typing.get_origin(annotation) or annotation]


def _default(field: FieldInfo) -> str:
    value = field.default
    if field.is_required():
        return "**required**"
    if field.default_factory or value in (None, "", ()) or isinstance(value, BaseModel):
        return ""
    if isinstance(value, float):
        minutes, seconds = divmod(int(value), 60)
        return f"`{minutes}m`" if not seconds else f"`{int(value)}s`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    for target, content in pages().items():
        target.write_text(content)
