"""The annotation in which apply remembers what it wrote, byte for byte as kubectl writes it.

Its text is Go's JSON: compact, keys sorted, ``<``, ``>`` and ``&`` escaped, everything else that is not ASCII as it is,
and a newline at the end. In one thing it is not kubectl's: a Secret's write-only ``stringData`` is remembered as the
``data`` that it becomes, or keys that leave it would stay in the cluster, empty, for ever.
"""

from __future__ import annotations

import base64
import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import orjson

from syncd.merge.errors import MergeError, bounded

if TYPE_CHECKING:
    from syncd.model import JSONObject, JSONValue

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"

ANNOTATIONS_LIMIT: Final = 262144
"""What the API server allows all annotations of an object together: bytes of keys and values."""


class LastAppliedError(MergeError):
    """The annotation does not hold a JSON object: somebody has changed it."""


def read(live: JSONObject) -> JSONObject | None:
    """The configuration that was applied last, None when the object has none.

    Raises:
        LastAppliedError: The annotation is there and cannot be read.
    """
    text = _annotations(live).get(ANNOTATION)
    if text is None:
        return None
    try:
        value = orjson.loads(text) if isinstance(text, str) else None
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise LastAppliedError(f"the annotation {ANNOTATION} is not a JSON object")
    return value


def text_of(document: JSONObject) -> str | None:
    """The annotation as it stands on an object, None when it is not there."""
    text = _annotations(document).get(ANNOTATION)
    return text if isinstance(text, str) else None


@bounded
def stamp(desired: JSONObject, remembered: JSONObject | None = None) -> JSONObject:
    """The configuration with the annotation that remembers it, or only that part of it which is to be remembered."""
    desired = folded(desired)
    metadata = desired.get("metadata") or {}
    annotations = {key: value for key, value in _annotations(desired).items() if key != ANNOTATION}
    text = text_for(desired if remembered is None else folded(remembered))
    return {**desired, "metadata": {**metadata, "annotations": {**annotations, ANNOTATION: text}}}


def text_for(configuration: JSONObject) -> str:
    """The annotation's text for a configuration."""
    annotations = {key: value for key, value in _annotations(configuration).items() if key != ANNOTATION}
    metadata = {**(configuration.get("metadata") or {}), "annotations": annotations}
    return go_json({**configuration, "metadata": metadata}) + "\n"


def without(document: JSONObject) -> JSONObject:
    """The object without the annotation; without annotations at all if it was the only one."""
    annotations = _annotations(document)
    if ANNOTATION not in annotations:
        return document
    metadata = dict(document["metadata"])
    metadata["annotations"] = {key: value for key, value in annotations.items() if key != ANNOTATION}
    if not metadata["annotations"]:
        del metadata["annotations"]
    return {**document, "metadata": metadata}


def fits(desired: JSONObject) -> bool:
    """Whether the API server would take the object's annotations, this one included, written there or not."""
    annotations = _annotations(desired)
    if ANNOTATION not in annotations:
        annotations = _annotations(stamp(desired))
    return sum(len(key.encode()) + len(str(value).encode()) for key, value in annotations.items()) <= ANNOTATIONS_LIMIT


def folded(document: JSONObject) -> JSONObject:
    """A Secret whose ``stringData`` has become ``data``, as the API server does it; other objects as they are."""
    if document.get("kind") != "Secret" or document.get("apiVersion") != "v1" or "stringData" not in document:
        return document
    texts = document["stringData"]
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        return document if texts is not None else _without_key(document, "stringData")
    data = {**(document.get("data") or {}), **{key: _base64(text) for key, text in texts.items()}}
    return {**_without_key(document, "stringData"), "data": data}


def _without_key(document: JSONObject, unwanted: str) -> JSONObject:
    return {key: value for key, value in document.items() if key != unwanted}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _annotations(document: JSONObject) -> JSONObject:
    metadata = document.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}


# --- JSON as Go writes it ------------------------------------------------------------------------------------------

_ESCAPES: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_MAYBE_WHOLE: Final = re.compile(r"\.0[],}]")
_MAYBE_EXPONENT: Final = re.compile(r"e(?<=[0-9]e)[-+0-9]")
"""These two find every number that Go writes differently, and some texts that look like one. Each begins with a letter
of its own, for which a search is quick."""


def go_json(value: JSONValue) -> str:
    """The value as Go's ``json.Encoder`` writes it, without the newline at the end."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # integers beyond 64 bits
        return _escaped(_written(value))
    return _escaped(_written(value) if _MAYBE_WHOLE.search(text) or _MAYBE_EXPONENT.search(text) else text)


def _escaped(text: str) -> str:
    for character, escape in _ESCAPES.items():
        if character in text:
            text = text.replace(character, escape)
    return text


def _written(value: JSONValue) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_written(key)}:{_written(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    if isinstance(value, float):
        return _number(value)
    return orjson.dumps(value).decode() if not isinstance(value, int) else json.dumps(value)


def _number(value: float) -> str:
    """A float in the shortest digits, with an exponent only below 1e-6 and from 1e21 on."""
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"
