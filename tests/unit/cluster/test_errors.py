from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from syncd.cluster.errors import ApiError, ForbiddenError, InvalidError, NotFoundError, from_response
from syncd.cluster.masking import CAUSE_LIMIT, MESSAGE_LIMIT

SECRET = "correct horse: battery"
ENCODED = base64.b64encode(SECRET.encode()).decode()


def failure(
    code: int, reason: str, message: str, *, secret: bool = False, sent: Any = None, **details: Any
) -> ApiError:
    body = {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
    return from_response(code, {}, json.dumps(body).encode(), secret=secret, sent=sent)


def invalid(
    *causes: tuple[str, str], secret: bool = False, sent: Any = None, kind: str = "Deployment.apps"
) -> ApiError:
    listed = [{"reason": "FieldValueInvalid", "field": field, "message": message} for field, message in causes]
    message = f'{kind} "web" is invalid: [{"; ".join(": ".join(cause) for cause in causes)}]'
    return failure(422, "Invalid", message, secret=secret, sent=sent, causes=listed, name="web")


def test_an_invalid_object_names_each_field_and_its_problem() -> None:
    error = invalid(("spec.replicas", "Invalid value: -1: must be at least 0"), ("spec.selector", "Required value"))
    assert isinstance(error, InvalidError)
    assert str(error) == (
        'Deployment.apps "web" is invalid: spec.replicas: Invalid value: -1: must be at least 0; '
        "spec.selector: Required value"
    )
    assert [cause.field for cause in error.causes] == ["spec.replicas", "spec.selector"]


def test_a_long_value_is_left_out_and_the_verdict_stays() -> None:
    error = invalid(("spec.selector", f"Invalid value: {{{'x' * 5000}}}: field is immutable"))
    assert str(error).endswith("spec.selector: Invalid value: (long value): field is immutable")


def test_an_endless_message_is_cut() -> None:
    assert len(str(failure(400, "BadRequest", "word " * 10_000))) <= MESSAGE_LIMIT
    assert len(invalid(("spec", "y" * 5000)).causes[0].message) <= CAUSE_LIMIT


@pytest.mark.parametrize(
    "message",
    [
        f'Invalid value: "{SECRET}": must be something else',
        f"Invalid value: {SECRET}: must be something else",
        f'Invalid value: core.Secret{{Data: "{SECRET}"}}: field is immutable when `immutable` is set',
        f'Unsupported value: "{SECRET}": supported values: "{SECRET}x"',
        f'something odd about "{SECRET}"',
    ],
)
def test_a_value_in_a_secrets_cause_is_hidden(message: str) -> None:
    error = invalid(("data[password]", message), secret=True, kind="Secret")
    assert SECRET not in str(error)
    assert "horse" not in str(error) + repr(error.causes)
    assert "data[password]" in str(error)


def test_what_is_wrong_with_a_secrets_value_is_still_said() -> None:
    error = invalid(("data[a]", 'Invalid value: "x\\"y": illegal base64 data at byte 4'), secret=True, kind="Secret")
    assert str(error) == 'Secret "web" is invalid: data[a]: Invalid value: (hidden): illegal base64 data at byte 4'


@pytest.mark.parametrize("spelling", [SECRET, ENCODED])
def test_values_that_were_sent_are_hidden_wherever_they_appear(spelling: str) -> None:
    last_applied = json.dumps({"data": {"password": ENCODED}})
    for sent in (
        {"data": {"password": ENCODED}},
        {"stringData": {"password": SECRET}} if spelling == SECRET else {"data": {"password": ENCODED}},
        {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": last_applied}}},
    ):
        error = failure(400, "BadRequest", f"policy: value {spelling} is weak", secret=True, sent=sent)
        assert str(error) == "policy: value (hidden) is weak"


def test_a_short_value_is_hidden_as_a_word_only() -> None:
    error = failure(400, "BadRequest", "value a of data is bad", secret=True, sent={"stringData": {"k": "a"}})
    assert str(error) == "value (hidden) of data is bad"


def test_quotes_in_what_is_said_of_a_secret_are_hidden_but_for_its_name() -> None:
    error = failure(400, "BadRequest", f'Secret "db" cannot hold "{SECRET}"', secret=True, name="db")
    assert str(error) == 'Secret "db" cannot hold (hidden)'


def test_what_rbac_says_of_secrets_is_told_in_full() -> None:
    message = (
        'secrets "db" is forbidden: User "ci" cannot patch resource "secrets" in API group "" in the namespace "a"'
    )
    error = failure(403, "Forbidden", message, secret=True, name="db")
    assert isinstance(error, ForbiddenError)
    assert str(error) == message


def test_a_secret_that_is_not_found_is_named() -> None:
    error = failure(404, "NotFound", 'secrets "db" not found', secret=True, name="db", kind="secrets")
    assert isinstance(error, NotFoundError)
    assert (str(error), error.kind, error.name) == ('secrets "db" not found', "secrets", "db")


def test_an_answer_that_is_no_status_is_quoted_but_not_for_secrets() -> None:
    assert str(from_response(503, {}, b"no healthy upstream")) == "the answer was HTTP 503: no healthy upstream"
    assert "hunter2" not in str(from_response(503, {}, b"hunter2", secret=True))


def test_odd_details_do_no_harm() -> None:
    for details in ({"causes": "x"}, {"causes": [1, None]}, {"name": None}):
        failure(422, "Invalid", "bad", **details)
    assert str(from_response(422, {}, b'{"kind": "Status", "details": 3}')).startswith("the answer was HTTP 422")
