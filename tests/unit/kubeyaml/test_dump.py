from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncd.kubeyaml import dump, load_all

TRICKY = [
    "y",
    "no",
    "1e3",
    "08",
    "0o17",
    "12:30",
    "~",
    "",
    "=",
    "<<",
    ".inf",
    "1_0",
    "a\nb\n",
    " a\n  b",
    "\t",
    "#",
    "é\u2028",
    "a: b",
    "-",
]
texts = st.one_of(
    st.sampled_from(TRICKY), st.text("ab019yn.:-+#'\"{}[],&*!|>%@`~?=<\\/ \n\té日😀\u2028\xa0", max_size=8)
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda f: f != int(f)),
    texts,
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=8
)


@given(st.dictionaries(texts, values, min_size=1, max_size=4))
def test_what_is_dumped_is_read_back(value: dict[str, object]) -> None:
    (document,) = load_all(dump(value).encode())
    assert document.value == value


def test_dumped_yaml_is_for_people() -> None:
    assert dump({"b": 1, "a": ["x"], "t": "one\ntwo\n", "s": "yes"}) == "b: 1\na:\n- x\nt: |\n  one\n  two\ns: 'yes'\n"


def test_shared_values_are_written_out() -> None:
    shared = {"x": 1}
    assert "&" not in dump({"a": shared, "b": shared})
