"""What names, labels and annotations may look like, in the words of apimachinery's ``util/validation``.

Each function gives the list of what is wrong with a text; an empty list is a good name.
"""

from __future__ import annotations

import re

_ALPHANUMERIC_ENDS = "and must start and end with an alphanumeric character"
_LABEL_PATTERN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_PATTERN = rf"{_LABEL_PATTERN}(\.{_LABEL_PATTERN})*"
_DNS_1035_PATTERN = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED_PATTERN = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_PATTERN = f"({_QUALIFIED_PATTERN})?"
_QUALIFIED = (
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ALPHANUMERIC_ENDS} (e.g. 'MyName',  or 'my.name',  "
    f"or '123-abc', regex used for validation is '{_QUALIFIED_PATTERN}')"
)


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def _too_long(text: str, limit: int, unit: str = "bytes") -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(text.encode()) > limit else []


def subdomain(text: str) -> list[str]:
    """A name of most kinds: lower case, dots and dashes."""
    wrong = _too_long(text, 253, "characters")
    if not _matches(_SUBDOMAIN_PATTERN, text):
        wrong.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            f"{_ALPHANUMERIC_ENDS} (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_PATTERN}')"
        )
    return wrong


def label(text: str) -> list[str]:
    """A name without dots: that of a namespace, a container, a Service."""
    wrong = _too_long(text, 63, "characters")
    if "." in text and _matches(_SUBDOMAIN_PATTERN, text):
        wrong.append("must not contain dots")
    elif not _matches(_LABEL_PATTERN, text):
        wrong.append(
            f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
            f"{_ALPHANUMERIC_ENDS} (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL_PATTERN}')"
        )
    return wrong


def dns_1035_label(text: str) -> list[str]:
    """A name without dots that starts with a letter: the version of a custom resource, say."""
    wrong = _too_long(text, 63, "characters")
    if not _matches(_DNS_1035_PATTERN, text):
        wrong.append(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
            "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
            f"validation is '{_DNS_1035_PATTERN}')"
        )
    return wrong


def path_segment(text: str) -> list[str]:
    """A name that need only fit into a URL: that of RBAC objects."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in text]


def qualified(text: str) -> list[str]:
    """The key of a label or annotation: ``name`` or ``prefix/name``."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [
            f"a qualified name {_QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    wrong = []
    if slash:
        wrong += (
            ["prefix part must be non-empty"] if not prefix else [f"prefix part {text}" for text in subdomain(prefix)]
        )
    if not name:
        wrong.append("name part must be non-empty")
    wrong += [f"name part {text}" for text in _too_long(name, 63)]
    if not _matches(_QUALIFIED_PATTERN, name):
        wrong.append(f"name part {_QUALIFIED}")
    return wrong


def label_value(text: str) -> list[str]:
    """The value of a label."""
    wrong = _too_long(text, 63)
    if not _matches(_VALUE_PATTERN, text):
        wrong.append(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
            f"{_ALPHANUMERIC_ENDS} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            f"'{_VALUE_PATTERN}')"
        )
    return wrong


def port_name(text: str) -> list[str]:
    """The name of a container's port."""
    wrong = ["must be no more than 15 characters"] if len(text) > 15 else []
    if not _matches("[-a-z0-9]+", text):
        wrong.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        wrong.append("must contain at least one letter (a-z)")
    if "--" in text:
        wrong.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        wrong.append("must not begin or end with a hyphen")
    return wrong


def config_key(text: str) -> list[str]:
    """A key of a ConfigMap or Secret."""
    wrong = _too_long(text, 253, "characters")
    if not _matches("[-._a-zA-Z0-9]+", text):
        wrong.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
            "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
        )
    if text == ".":
        wrong.append("must not be '.'")
    elif text == "..":
        wrong.append("must not be '..'")
    elif text.startswith(".."):
        wrong.append("must not start with '..'")
    return wrong


def port_number(number: int) -> list[str]:
    """A port."""
    return [] if 1 <= number <= 65535 else ["must be between 1 and 65535, inclusive"]
