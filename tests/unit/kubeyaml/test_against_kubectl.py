"""The reader against the real one, inside kubectl."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any

import pytest

from syncd.kubeyaml import YAMLError, load_all
from syncd.merge.jsonvalue import equal
from tests.unit.merge import kubectl

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not kubectl.available, reason=kubectl.MISSING)

HEADER = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n"

TEXTS = [
    "y", "Y", "yes", "Yes", "YES", "yES", "n", "N", "no", "on", "On", "off", "OFF", "true", "True", "TRUE", "tRUE",
    "false", "~", "null", "Null", "NULL", "nUll", "0", "00", "-0", "+1", "-1", "0755", "0o755", "0O17", "-017",
    "08",
    "0b11", "-0b11", "0B11", "0x1F", "0X1f", "-0x1F", "0x", "1_000", "1__0", "_1", "1_", "1e3", "1E3", "1e+3",
    "1e-3",
    "1.0", "1.", ".5", "-.5", "+.5", "1.5e3", "1e400", "1e-400", "-1e400", "12:30", "190:20:30", "1:2",
    "2020-01-01",
    "2020-01-01T00:00:00Z", "2020-01-01 00:00:00", "=", "<<", ".inf2", "inf", "nan", "NaN", "Infinity", "0x1p4",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "18446744073709551615", "18446744073709551616", "99999999999999999999999", "0xFFFFFFFFFFFFFFFF",
    "0xFFFFFFFFFFFFFFFFF", "0.1", "123456789.123456789", "1e20", "1e21", "1e22", "0.000001", "0.0000001",
    "'1'", '"1"', "'yes'", '"a\\tb\\u00e9"', "!!str 1", "!!str yes", "!!int 1", "!!int '1'", "!!float 1",
    "!!bool yes",
    "!!null ''", "!!timestamp 2020-01-01", "!!binary aGVsbG8=", "!custom 1", "! 1", "! '1'", "a b", "a#b", "a: b",
    "[1, y, 08]", "{a: 1, y: 2}", "{1: a, 1.5: b, 0x10: c, true: d}", "{? a : b}", "[a, [b, {c: d}]]", "é", "日本",
    "|\n  line\n  line\n", ">\n  folded\n  text\n", "|-\n  stripped\n", '"a\\\n  b"', "-", "@a", "%a", "`a", "&x 1",
    "*none", "!!int x", "!!binary '*'", ".inf", "-.inf", ".nan", "{[a]: b}", "{~: b}", "[a, b", '"open',
    "{a: 1, <<: {a: 2, b: 3}}",
    "{<<: {a: 2, b: 3}, a: 1}", "{<<: [{a: 1}, {a: 2, b: 2}]}", "{<<: 1}",
    "{1e6: a, 1e5: b, 1e-5: c, 12345678.9: d}",
    "{18446744073709551615: a}", "{.5: a}", "{2020-01-01: a}", "{12:30: a}",
]  # fmt: skip


def ours(text: str) -> Any:
    try:
        (document,) = load_all(text.encode())
    except YAMLError as error:
        return error
    return document.value


def theirs(text: str) -> Any:
    try:
        value = kubectl.read(text)
    except kubectl.KubectlError as error:
        return error
    del value["metadata"]["annotations"]
    return load_all(json.dumps(value).encode())[0].value  # its numbers printed by Go: read as Go would read them again


def test_every_scalar_that_is_read_is_read_alike() -> None:
    """All that we accept, in one document; kubectl must accept it and agree on every value."""
    accepted = [text for text in TEXTS if isinstance(ours(f"{HEADER}spec: {text}"), dict)]
    indented = [text.replace("\n", "\n    ") for text in accepted]
    together = HEADER + "spec:\n" + "".join(f"  k{index}: {text}\n" for index, text in enumerate(indented))
    left, right = ours(together), theirs(together)
    assert isinstance(right, dict), right
    different = [
        (text, left["spec"][f"k{index}"], right["spec"].get(f"k{index}"))
        for index, text in enumerate(accepted)
        if not equal(left["spec"][f"k{index}"], right["spec"].get(f"k{index}"))
    ]
    assert different == []


def test_every_scalar_that_is_refused_is_refused_by_kubectl_too() -> None:
    refused = [text for text in TEXTS if not isinstance(ours(f"{HEADER}spec: {text}"), dict)]
    assert refused
    assert [text for text in refused if isinstance(theirs(f"{HEADER}spec: {text}"), dict)] == []


def test_a_repeated_key_is_where_we_are_stricter() -> None:
    text = HEADER + "spec: {a: 1, a: 2}\n"
    assert theirs(text)["spec"] == {"a": 2}
    assert isinstance(ours(text), YAMLError)


def test_a_word_that_ends_in_a_colon_inside_brackets_is_where_libyaml_is_stricter() -> None:
    """Most likely a map was meant; nobody loses anything by having to write quotes."""
    text = HEADER + "spec: [a:, b]\n"
    assert theirs(text)["spec"] == ["a:", "b"]
    assert isinstance(ours(text), YAMLError)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_very_many_random_documents_are_read_alike() -> None:
    def value(choose: random.Random, depth: int) -> str:
        if depth and choose.random() < 0.4:
            items = [value(choose, depth - 1) for _ in range(choose.randint(0, 3))]
            return f"[{', '.join(items)}]"
        return "".join(choose.choice("0123456789_.+-eExXoObByYnNtrufalse:~ 'aTZ") for _ in range(choose.randint(1, 6)))

    different = []
    for seed in range(600):
        choose = random.Random(seed)  # noqa: S311 - reproducible test data
        text = HEADER + "spec:\n" + "".join(f"  k{index}: {value(choose, 2)}\n" for index in range(3))
        if re.search(r":[],]", text):
            continue  # see the test above
        left, right = ours(text), theirs(text)
        if isinstance(left, dict) != isinstance(right, dict) or (isinstance(left, dict) and not equal(left, right)):
            different.append((text, left, right))
    assert not different, f"{len(different)}, the first: {different[0]}"


@pytest.mark.corpus
def test_real_manifests_are_read_alike(shared: Path) -> None:
    files = sorted((shared / "corpus").rglob("*-deployment.yaml"))[:8]
    assert files
    for file in files:
        text = file.read_text()
        assert equal(ours(text), theirs(text)), file.name
