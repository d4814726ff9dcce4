"""The reference page names every field of the JSON form."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from syncd.web import serialize
from tests.unit.web import sample

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "status-page.md"


def names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            if name not in ("durations", "before", "after"):
                yield from names(inner)
    elif isinstance(value, list):
        for item in value:
            yield from names(item)


def test_every_field_of_the_json_form_is_documented() -> None:
    page = PAGE.read_text()
    found = {name for status in sample.believable().statuses() for name in names(serialize.detail(status))}
    assert {"correctedAt", "healthMessage", "tree"} <= found
    assert sorted(name for name in found if f"`{name}`" not in page and f"`{name}[]`" not in page) == []
