"""Reading ``kind: Sync`` documents from files, with errors that name file, document, line and field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncd.kubeyaml import line_of, load_all
from syncd.model import InvalidInputError, Origin, SyncdError
from syncd.spec import KIND, SpecError, Sync, parse_sync

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SUFFIXES = (".yaml", ".yml", ".json")


class ConfigError(SyncdError):
    """The configuration does not hold; its message has one line for each problem."""

    reason = "InvalidConfig"

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


@dataclass(frozen=True, slots=True)
class _Found:
    sync: Sync
    origin: Origin


def load_syncs(path: Path) -> tuple[Sync, ...]:
    """Read every Sync in a file, or in all YAML and JSON files right inside a folder.

    Documents of other kinds are refused: in a configuration they are most likely a mistake.

    Raises:
        ConfigError: Something does not hold; lists all problems of all files.
    """
    problems: list[str] = []
    found: list[_Found] = []
    for file in _files(path):
        try:
            found.extend(_read(file))
        except ConfigError as error:
            problems.extend(error.problems)
        except (OSError, InvalidInputError) as error:
            problems.append(str(error))
    problems.extend(_doubles(found))
    if problems:
        raise ConfigError(tuple(problems))
    if not found:
        raise ConfigError((f"{path}: there is no Sync in it",))
    return tuple(item.sync for item in sorted(found, key=lambda item: item.sync.id))


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise ConfigError((f"{path}: no such file or folder",))
    if path.is_file():
        return [path]
    return sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES and file.is_file())


def _read(file: Path) -> Iterator[_Found]:
    data = file.read_bytes()
    problems: list[str] = []
    for document in load_all(data, Origin(path=str(file))):
        origin = Origin(path=str(file), document=document.index, line=document.line)
        value = document.value
        if not isinstance(value, dict) or value.get("kind") != KIND:
            kind = value.get("kind", "no kind") if isinstance(value, dict) else "no mapping"
            problems.append(f"{origin}: expected a document of kind {KIND}, found {kind}")
            continue
        try:
            yield _Found(parse_sync(value), origin)
        except SpecError as error:
            for problem in error.problems:
                field = ".".join(str(part) for part in problem.path)
                line = line_of(data, document.index, problem.path)
                problems.append(f"{origin._replace(line=line)}: {field}: {problem.message}")
    if problems:
        raise ConfigError(tuple(problems))


def _doubles(found: list[_Found]) -> Iterator[str]:
    """Two Syncs of one name would share one apply-config object, and prune each other's objects."""
    seen: dict[str, _Found] = {}
    for item in found:
        first = seen.setdefault(item.sync.id, item)
        if first is not item:
            yield f"{item.origin}: Sync {item.sync.id} is already defined in {first.origin}"
