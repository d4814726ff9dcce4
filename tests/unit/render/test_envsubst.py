from __future__ import annotations

import pytest

from syncd.render.envsubst import MissingVariableError, SubstitutionError, expand

VALUES = {"a": "alpha", "b": "Beta/x/y", "empty": "", "n": "42", "path": "usr/local/bin/tool", "d": "a.b.c"}

# Answered by github.com/fluxcd/pkg/envsubst v1.8.0.
REAL = [
    ("no variable, $a, $ and }", "no variable, $a, $ and }"),
    ("${a}-${n}", "alpha-42"),
    ("$${a} costs 5$$", "${a} costs 5$"),
    ("${a:-x}${empty:-x}${missing:-x}", "alphaxx"),
    ("${a:=x}${empty:=x}${missing:=x}", "alphaxx"),
    ("${missing=x}", "x"),
    ("${missing:-}", ""),
    ("${missing:-${a}/${n}}", "alpha/42"),
    ("${missing:-\n  two lines}", "\n  two lines"),
    ("${#a}${#empty}", "50"),
    ("${a^}${a^^}${b,}${b,,}", "AlphaALPHAbeta/x/ybeta/x/y"),
    ("${a:1}|${a:1:2}|${a:-2}|${a:9}|${a:0:9}|${a:x}", "lpha|lp|alpha|||alpha".replace("|||", "||alpha|")),
    ("${path#*/}|${path##*/}|${path%/*}|${path%%/*}", "local/bin/tool|tool|usr/local/bin|usr"),
    ("${path#x}|${path%x}", "usr/local/bin/tool|usr/local/bin/tool"),
    ("${d/./-}|${d//./-}|${d/./}", "a-b.c|a-b-c|ab.c"),
    ("${d/#a/z}|${d/%c/z}|${d/#b/z}|${d/%b/z}", "z.b.c|a.b.z|a.b.c|a.b.c"),
    (r"${b//\//_}", "Beta_x_y"),
    ("${a/${a}/x}", "x"),
]


@pytest.mark.parametrize(("text", "expanded"), REAL)
def test_every_form_means_what_it_means_to_flux(text: str, expanded: str) -> None:
    assert expand(text, VALUES, strict=True) == expanded


@pytest.mark.parametrize("text", ["${missing}", "${#missing}", "${missing^^}", "${missing:1}", "${a:-${missing}}"])
def test_a_variable_without_value_and_default_is_named_or_empty(text: str) -> None:
    with pytest.raises(MissingVariableError, match="the variable missing has no value"):
        expand(text, VALUES, strict=True)
    assert "missing" not in expand(text, VALUES, strict=False)


@pytest.mark.parametrize(
    "text",
    ["${", "${}", "${a", "${a.b}", "${a b}", "${a-x}", "${a+x}", "${a:+x}", "${a:?x}", "${a#}", "${a/x}"],
)
def test_what_is_no_variable_is_refused_with_a_way_out(text: str) -> None:
    with pytest.raises(SubstitutionError, match=r"write \$\$\{"):
        expand(text, VALUES, strict=True)
