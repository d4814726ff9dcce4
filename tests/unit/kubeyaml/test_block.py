"""What is read line by line comes out as libyaml's events would have it, and so does every mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from syncd import kubeblock
from syncd.kubeblock import documents
from syncd.kubeloader import Loader, YAMLError
from syncd.merge.jsonvalue import equal
from syncd.model import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from syncd.kubeloader import Document

USUAL = [
    "a:", "b:", "c: 1", "d: yes", "e: x y", "f: {}", "g: []", "h: 'q'", 'i: "q r"', "j: http://h:80/p#q", "- x",
    "- a:", "- b: 1", "- - z", "-", "- []", "# words", "", "", "  ", "k: -x", "- --flag=1", "l: 0x1F", "m: 1.50",
]  # fmt: skip
ODD = [
    "---", "---", "--- ", "--- x", "--- # x", "...", "words", "a: b: c", "a: |", "b: >-", "a: x # y", "a: # y",
    "a: -", "a: -", "a: &x 1", "b: *x", "<<: {c: 1}", "a: !!str 1", "%YAML 1.1", "\ta: b", "a:\tb", "a: .inf",
    "y: 1", "null: 1", "\u00e9: \u00fc", "a: 'it''s'", 'a: "b\\n"', 'a: "b', "'a': b", "a: [x, y]", "{a: b}",
    "- {a: b}", "? a", ": b", "a: @b", "a:  x  ", "a:b", "a :b", "- # x", "1: a", "a: 1e400",
    "a: 99999999999999999999", "~", "null", "\ufeffa: b", ": b", "null", "a: x\ry: z", "a: x\u2028---",
    "a: x\u0085---", "a: \u0000", "a: \u0007", "a: ---", "a: ...", "---a", "- ---",
]  # fmt: skip

lines = st.tuples(st.integers(0, 5), st.sampled_from(USUAL) | st.sampled_from(ODD))
usual_lines = st.tuples(st.integers(0, 3), st.sampled_from(USUAL))
texts = st.lists(lines, max_size=8) | st.lists(usual_lines | usual_lines | usual_lines | lines, max_size=12)


def outcome(read: Callable[[], Iterable[Document]]) -> Any:
    try:
        return [(found.value, found.index, found.line) for found in read()]
    except YAMLError as error:
        return f"{type(error).__name__} {error.origin} {error}"


def check(data: bytes) -> None:
    ours = outcome(lambda: documents(data, Origin("o")))
    assert equal(_as_lists(ours), _as_lists(outcome(lambda: Loader(data, Origin("o")).documents())))


def _as_lists(found: Any) -> Any:
    return found if isinstance(found, str) else [list(document) for document in found]


@settings(max_examples=1500)
@given(texts)
@example([(0, "~"), (0, "---"), (0, "c: 1")])
@example([(0, "# words"), (0, "---"), (0, "---"), (0, "c: 1")])
@example([(0, "\ufeffa: b"), (0, "---"), (0, "\ufeffa: b")])
@example([(0, "a:"), (2, "words"), (2, "words")])
@example([(0, "- x"), (1, "- x")])
@example([(0, "a: |"), (1, "words"), (0, "---")])
@example([(0, "a:"), (0, "- x"), (0, "b:")])
@example([(0, "f: {}"), (0, "g: []"), (0, "---"), (0, "f: {}")])
def test_any_text_reads_as_it_does_from_events(text: list[tuple[int, str]]) -> None:
    joined = "\n".join(" " * indent + line for indent, line in text)
    check(joined.encode())
    check(f"{joined}\n".encode())


@pytest.mark.corpus
def test_real_files_read_as_they_do_from_events(shared: Path) -> None:
    files = [path for suffix in ("yaml", "yml", "tpl") for path in (shared / "corpus").rglob(f"*.{suffix}")]
    assert len(files) > 50
    for path in files:
        check(path.read_bytes())


def test_a_plain_manifest_needs_no_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubeblock, "Loader", None)
    text = (
        "# a list\n---\nkind: A\nmetadata:\n  name: a\nlist:\n- b: c\n  d:\n    - 'e'\n    - 1\n---\nkind: B\nempty:\n"
    )
    one, other = documents(text.encode(), Origin())
    assert one.value == {"kind": "A", "metadata": {"name": "a"}, "list": [{"b": "c", "d": ["e", 1]}]}
    assert (one.index, one.line) == (1, 3)
    assert other.value == {"kind": "B", "empty": None}
    assert (other.index, other.line) == (2, 12)


@pytest.mark.parametrize("every", [1, 2, 7])
def test_streams_of_which_few_or_many_documents_are_unusual_read_alike(every: int) -> None:
    parts = [f"a: {'[x, y]' if number % every == 0 else 'x'}\nb: {number}\n" for number in range(30)]
    check("---\n".join(parts).encode())
    check("---\n".join([*parts, "a: 1\na: 2\n"]).encode())


def test_depth_is_bounded_whatever_reads_it() -> None:
    for deep in ("\n".join(" " * level + "a:" for level in range(5000)), "- " * 5000 + "a", "a:\n" + "- " * 250 + "a"):
        assert "200 deep" in outcome(lambda text=deep: documents(text.encode(), Origin()))  # type: ignore[misc]  # its own text


def test_empty_maps_are_not_shared() -> None:
    (found,) = documents(b"a:\n  c: {}\nb:\n  c: {}\n", Origin())
    assert isinstance(found.value, dict)
    assert found.value["a"]["c"] is not found.value["b"]["c"]
