"""Tables: what ``kubectl get`` prints, made by the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from syncd.sandbox import conversion, responses, store, table_cells, table_columns
from syncd.sandbox.table_columns import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind
    from syncd.sandbox.storage import Stored
    from syncd.sandbox.store import Context

_TABLE = "meta.k8s.io/v1"


def encode(  # what is shown, and how
    context: Context,
    kind: ServedKind,
    items: Sequence[Stored],
    metadata: JSONObject,
    include: str,
    *,
    columns_told: bool = False,
) -> bytes:
    """A Table of these objects.

    Args:
        context: The server's objects; custom kinds say there what their columns are.
        kind: The objects' kind.
        items: The objects.
        metadata: The list's metadata.
        include: ``includeObject``: ``None``, ``Metadata`` (the default) or ``Object``.
        columns_told: Whether the client has the columns from a table before this one.
    """
    now = context.clock()
    columns = columns_of(context, kind)
    rows = []
    for stored in items:
        if "name" not in stored.object["metadata"]:
            continue  # the bookmark of a watch
        obj = conversion.from_storage(kind, stored.object)
        row: JSONObject = {"cells": [table_cells.cell(column, obj, now) for column in columns]}
        row["object"] = None if include == "None" else obj if include == "Object" else responses.partial(obj)
        rows.append(row)
    return orjson.dumps(
        {
            "kind": "Table",
            "apiVersion": _TABLE,
            "metadata": metadata,
            "columnDefinitions": None if columns_told else [_definition(column) for column in columns],
            "rows": rows,
        }
    )


def columns_of(context: Context, kind: ServedKind) -> tuple[Column, ...]:
    """The columns of a kind."""
    if not kind.custom:
        return table_columns.BUILT_IN.get((kind.group, kind.kind), table_columns.DEFAULT)
    declared = store.custom_version(context, kind).get("additionalPrinterColumns")
    if not declared:
        return table_columns.DEFAULT_CUSTOM
    return (table_columns.NAME, *(_declared(column) for column in declared))


def _declared(column: JSONObject) -> Column:
    return Column(
        column["name"],
        path=column["jsonPath"],
        type=column["type"],
        format=column.get("format", ""),
        priority=column.get("priority", 0),
        description=column.get("description", ""),
    )


def _definition(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }
