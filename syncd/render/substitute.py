"""Variables in rendered objects: where their values come from, and what becomes of a text that holds them.

Flux expands the YAML of each object as one text. Here each text in an object is expanded by itself, so that a value can
never change the shape of the object around it; what would stand in YAML without quotes is read again afterwards, so
that ``replicas: ${count}`` becomes a number there as well as here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.cluster.errors import SecretMissingError
from syncd.kubescalar import resolve
from syncd.kubeyaml import Document, YAMLError, load_all
from syncd.plan import mask
from syncd.render.envsubst import MissingVariableError, SubstitutionError, expand
from syncd.render.errors import InvalidManifestError, UnresolvedVariableError
from syncd.render.objects import manifests_of
from syncd.spec.substitute import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from syncd.model import InvalidInputError, JSONObject, JSONValue, Manifest, Origin
    from syncd.render.surroundings import Surroundings
    from syncd.source.tree import Tree
    from syncd.spec import Substitute

_SWITCHES: Final = ("syncd.dev/substitute", "kustomize.toolkit.fluxcd.io/substitute")
_QUOTED_IN_YAML: Final = re.compile(r"[\s!&*|>%@`\"'\[\]{},#]|[-?:]\s|.*(?::\s|\s#|\n)|.*[\s:]\Z", re.DOTALL)
"""Texts that need quotes in YAML, and so stay texts."""
_QUOTED: Final = re.compile(r"""(["']).*\1\Z|\{.*\}\Z|\[.*\]\Z""", re.DOTALL)
_TEXTS: Final = frozenset({"labels", "annotations", "matchLabels", "nodeSelector"})
_TEXTS_OF_KIND: Final = {"ConfigMap": ("data", "binaryData"), "Secret": ("data", "stringData")}
"""Maps whose values are texts to every API server, whatever they look like."""


class Variables(NamedTuple):
    """What manifests may name."""

    values: dict[str, str]
    """By name."""
    secret: frozenset[str]
    """The names of those whose values are from Secrets."""

    def __repr__(self) -> str:
        return "Variables(...)"


def variables(substitute: Substitute, surroundings: Surroundings, namespace: str) -> Variables:
    """The values of all variables, read now.

    Args:
        substitute: What the Sync says.
        surroundings: Have the ConfigMaps and Secrets.
        namespace: The Sync's own.

    Raises:
        UnresolvedVariableError: A key is not the name of a variable, or a value is no text.
        SyncdError: A ConfigMap or Secret that is not optional is missing, or cannot be read.
    """
    found: dict[str, str] = {}
    secret: set[str] = set()
    for source in substitute.from_:
        reader = surroundings.secrets if source.kind == "Secret" else surroundings.config_maps
        where = f"the {source.kind} {namespace}/{source.name}, which spec.substitute.from names"
        try:
            data = reader.read(namespace, source.name)
        except SecretMissingError:
            if source.optional:
                continue
            raise
        for name, value in data.items():
            if not VARIABLE.fullmatch(name):
                raise UnresolvedVariableError(f"{name!r} in {where} is not the name of a variable (letters, digits, _)")
            try:
                found[name] = value.decode("utf-8").replace("\n", "")
            except UnicodeDecodeError:
                raise UnresolvedVariableError(f"the value of {name} in {where} is not UTF-8 text") from None
        secret = secret | data.keys() if source.kind == "Secret" else secret - data.keys()
    found.update({name: value.replace("\n", "") for name, value in substitute.values.items()})
    return Variables(found, frozenset(secret - substitute.values.keys()))


def substitute(
    manifests: Iterable[Manifest],
    variables: Variables,
    *,
    strict: bool,
    tree: Tree,
    errors: list[InvalidInputError],
) -> list[Manifest]:
    """Replace the variables in manifests.

    Args:
        manifests: As they were rendered.
        variables: Their values; those that are from Secrets make the manifests say what is to be hidden in them.
        strict: Whether a variable without value and default is an error.
        tree: Has the files, to find the line of a mistake.
        errors: Gets what is wrong with single objects, which are left out.
    """
    values = (variables.values[name] for name in variables.secret)
    known = frozenset(value for value in values if len(value) >= mask.SHORTEST)
    done: list[Manifest] = []
    for manifest in manifests:
        if _is_switched_off(manifest.body):
            done.append(replace(manifest, hidden=known))
            continue
        expander = _Expander(variables, strict=strict)
        try:
            body = {
                key: expander.expanded(value, texts=key in _TEXTS_OF_KIND.get(manifest.key.kind, ()))
                for key, value in manifest.body.items()
            }
        except MissingVariableError as error:
            place = _place(manifest.origin, error.name, tree)
            hint = "; give it one in spec.substitute, write $${ for a literal ${, or annotate the object with "
            problem = f"{manifest.key.display()}: {error}{hint}{_SWITCHES[0]}: disabled"
            errors.append(UnresolvedVariableError(problem, place))
        except SubstitutionError as error:
            errors.append(UnresolvedVariableError(f"{manifest.key.display()}: {error}", manifest.origin))
        else:
            done += _checked(replace(manifest, hidden=known | expander.hidden), body, errors)
    return done


def _is_switched_off(body: JSONObject) -> bool:
    marks = [body["metadata"].get(name) or {} for name in ("labels", "annotations")]
    return any(str(mark.get(switch, "")).lower() == "disabled" for mark in marks for switch in _SWITCHES)


def _checked(manifest: Manifest, body: JSONObject, errors: list[InvalidInputError]) -> Iterator[Manifest]:
    """The manifest with its new body, if that is still a Kubernetes object."""
    if body == manifest.body:
        yield manifest
        return
    place, hidden = manifest.origin, manifest.hidden
    wrong: list[InvalidInputError] = []
    for changed in manifests_of([Document(body, place.document, place.line)], b"", place, wrong):
        yield replace(changed, hidden=hidden)
    errors += [InvalidManifestError(mask.mask_text(error.problem, hidden), error.origin) for error in wrong]


class _Expander:
    """Replaces the variables of one object.

    Attributes:
        hidden: The texts that would not be what they are without the values of Secrets.
    """

    def __init__(self, variables: Variables, *, strict: bool) -> None:
        self._values = variables.values
        self._without = {**self._values, **dict.fromkeys(variables.secret, "")} if variables.secret else None
        self._strict = strict
        self.hidden: set[str] = set()

    def expanded(self, value: JSONValue, *, texts: bool = False) -> JSONValue:
        """A value with all variables in its texts and keys replaced; ``texts`` when what is in it has to stay text."""
        if isinstance(value, dict):
            return {
                self._text(key): self.expanded(item, texts=texts or (key in _TEXTS and isinstance(item, dict)))
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self.expanded(item, texts=texts) for item in value]
        if not isinstance(value, str) or "$" not in value:
            return value
        text = self._text(value)
        read = _read_again(value, text, texts=texts)
        if text in self.hidden:
            self.hidden.update(mask.texts(read))
        return read

    def _text(self, text: str) -> str:
        if "$" not in text:
            return text
        expanded = expand(text, self._values, strict=self._strict)
        if self._without is not None and expand(text, self._without, strict=self._strict) != expanded:
            self.hidden.add(expanded)
        return expanded


def _read_again(before: str, after: str, *, texts: bool) -> JSONValue:
    """What a text without quotes means once its variables are replaced; one that needs quotes stays a text."""
    if after == before or _QUOTED_IN_YAML.match(before):
        return after
    value: JSONValue = resolve(after) if "\n" not in after else after
    if _QUOTED.match(after):
        try:
            value = load_all(f"- {after}".encode())[0].value[0]
        except YAMLError:
            value = after
    return value if isinstance(value, str) or not texts else after


def _place(origin: Origin, name: str, tree: Tree) -> Origin:
    """The line at which a variable stands, if it stands in the file that the object is from."""
    entry = tree.entries.get(origin.path)
    if entry is None:
        return origin
    lines = tree.read([origin.path])[origin.path].decode("utf-8", "replace").splitlines()
    use = re.compile(rf"(?<!\$)\$\{{#?{name}\b")
    start = max(origin.line, 1)
    found = next((number for number, line in enumerate(lines[start - 1 :], start) if use.search(line)), origin.line)
    return origin._replace(line=found)
