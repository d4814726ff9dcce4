"""What a real server answered, kept in files, so that the sandbox can be held to it without one.

The files are written by ``python -m tests.contract.record``, and checked against the real server wherever there is one.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

RECORD = "SYNCD_RECORD_GOLDEN"
"""The environment variable that makes a test on the real server write its file instead of reading it."""

_FOLDER = Path(__file__).parent / "golden"
_STABLE_FIELDS = {
    "uid": "UID",
    "resourceVersion": "VERSION",
    "creationTimestamp": "TIME",
    "time": "TIME",
    "clusterIP": "ADDRESS",
    "clusterIPs": "ADDRESSES",
    "nodePort": 30000,
    "healthCheckNodePort": 30000,
}
_IN_TEXT = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"^\d+s$"), "AGE"),
    (re.compile(r"^10\.(9[6-9]|10\d|11[01])\.\d+\.\d+$"), "ADDRESS"),
    (re.compile(r":3\d{4}/(?=TCP|UDP)"), ":30000/"),
    (re.compile(r"(?<=^kube-api-access-)[a-z0-9]{5}$"), "xxxxx"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"(?<=ResourceVersion in object meta: )\d+|(?<=ResourceVersion in record \()\d+"), "VERSION"),
    (re.compile(r'(?<="resourceVersion":")\d+|(?<="resourceVersion\\":\\")\d+'), "VERSION"),
)


def stable(value: Any, namespace: str = "") -> Any:
    """An answer without what is another each time: identities, versions, times, addresses, the test's namespace."""
    if isinstance(value, dict):
        return {key: _of_field(key, item, namespace) for key, item in value.items()}
    if isinstance(value, list):
        return [stable(item, namespace) for item in value]
    if isinstance(value, str):
        for pattern, stands in _IN_TEXT:
            value = pattern.sub(stands, value)
        return value.replace(namespace, "NAMESPACE") if namespace else value
    return value


def _of_field(key: str, value: Any, namespace: str) -> Any:
    if key in _STABLE_FIELDS and value not in ("None", ["None"], {}):
        return _STABLE_FIELDS[key]
    return stable(value, namespace)


def check(name: str, value: Any, *, real: bool) -> None:
    """Hold an answer against the file of this name.

    Args:
        name: Path below the folder, without ending.
        value: The answer; made stable before.
        real: Whether it is a real server's.
    """
    if real and os.environ.get(RECORD):
        file = _FOLDER / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    assert value == read(name)


def read(name: str) -> Any:
    """What a real server answered."""
    return json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
