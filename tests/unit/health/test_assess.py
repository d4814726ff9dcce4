"""Every state of every kind with a rule, as the fixtures tell it."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.health import Health, assess
from syncd.health.rules import RULES

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("*.json"))
CASES = [(path.stem, case) for path in FIXTURES for case in json.loads(path.read_text())]


@pytest.mark.parametrize(("table", "case"), CASES, ids=[f"{table}: {case['state']}" for table, case in CASES])
def test_a_state_has_its_health_and_message(table: str, case: dict[str, Any]) -> None:
    before = copy.deepcopy(case["object"])
    status = assess(case["object"])
    assert (status.health, status.message) == (Health(case["health"]), case["message"]), table
    assert case["object"] == before


def test_every_kind_with_a_rule_has_fixtures() -> None:
    seen = {(case["object"]["apiVersion"].rpartition("/")[0], case["object"]["kind"]) for _, case in CASES}
    assert set(RULES) <= seen


def test_what_is_being_deleted_is_progressing_whatever_its_kind() -> None:
    for group, kind in RULES:
        obj = {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, "metadata": {"deletionTimestamp": "x"}}
        assert assess(obj).health is Health.PROGRESSING


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["True", "False", "Ready"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "status", "spec", "conditions", "type", "status", "replicas", "phase", "state", "waiting"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(kind=st.sampled_from(sorted(RULES)), metadata=anything, spec=anything, status=anything)
def test_an_object_of_any_form_gets_a_health_and_no_error(
    kind: tuple[str, str], metadata: Any, spec: Any, status: Any
) -> None:
    group, name = kind
    obj = {"apiVersion": f"{group}/v1" if group else "v1", "kind": name}
    assert assess({**obj, "metadata": metadata, "spec": spec, "status": status}).health in Health


def test_conditions_of_the_wrong_form_count_as_absent() -> None:
    obj = {"apiVersion": "v1", "kind": "Thing", "status": {"conditions": [None, "Ready", {"type": ["Ready"]}]}}
    assert assess(obj).health is Health.HEALTHY


def test_the_reference_page_names_every_kind_with_a_rule() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "health.md").read_text()
    assert [str(kind) for kind in RULES if f"`{kind}`" not in page] == []
