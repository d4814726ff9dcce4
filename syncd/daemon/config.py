"""Reading ``kind: Sync`` documents from files, with errors that name file, document, line and field."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from syncd.kubeyaml import line_of, load_all
from syncd.model import InvalidInputError, Origin, SyncdError
from syncd.spec import KIND, SpecError, Sync, parse_sync
from syncd.spec.objects import parse_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
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
    return _load([path], parse_sync, passes_over_others=False)


def stamps(path: Path) -> Mapping[Path, tuple[int, int, int]]:
    """What changes when a file that :func:`load_syncs` would read does; a file that cannot be seen is left out."""
    found = {}
    with suppress(ConfigError, OSError):
        for file in _files(path):
            with suppress(OSError):
                stat = file.stat()
                found[file] = stat.st_ino, stat.st_size, stat.st_mtime_ns
    return found


def check_syncs(paths: Iterable[Path], *, as_objects: bool = False) -> tuple[Sync, ...]:
    """Read every Sync in files and folders as :func:`load_syncs` does; documents of other kinds are passed over.

    Args:
        paths: The files and folders.
        as_objects: Whether they are to become objects of a cluster, where not all is allowed.

    Raises:
        ConfigError: Something does not hold; lists all problems of all files.
    """
    return _load(paths, _parse_object if as_objects else parse_sync, passes_over_others=True)


def _load(paths: Iterable[Path], parse: Callable[[Any], Sync], *, passes_over_others: bool) -> tuple[Sync, ...]:
    problems: list[str] = []
    found: list[_Found] = []
    paths = tuple(paths)
    for path in paths:
        try:
            for file in _files(path):
                mine, wrong = _read(file, parse, passes_over_others=passes_over_others)
                found.extend(mine)
                problems.extend(wrong)
        except ConfigError as error:
            problems.extend(error.problems)
    problems.extend(_doubles(found))
    if not found and not problems:
        problems.append(f"{', '.join(map(str, paths))}: there is no Sync in it")
    if problems:
        raise ConfigError(tuple(problems))
    return tuple(item.sync for item in sorted(found, key=lambda item: item.sync.id))


def _parse_object(document: Any) -> Sync:
    """Read what is to become an object; it is checked as it stands first, so that nothing unknown is passed over."""
    sync = parse_sync(document)
    parse_object({"metadata": sync.metadata.model_dump(), "spec": document["spec"]})
    return sync


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise ConfigError((f"{path}: no such file or folder",))
    if path.is_file():
        return [path]
    return sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES and file.is_file())


def _read(file: Path, parse: Callable[[Any], Sync], *, passes_over_others: bool) -> tuple[list[_Found], list[str]]:
    """The Syncs of one file, and what does not hold in it."""
    found: list[_Found] = []
    problems: list[str] = []
    try:
        data = file.read_bytes()
        documents = list(load_all(data, Origin(path=str(file))))
    except (OSError, InvalidInputError) as error:
        return [], [str(error)]
    for document in documents:
        for path, value in _items(document.value):
            line = line_of(data, document.index, path) if path else document.line
            origin = Origin(path=str(file), document=document.index, line=line)
            if not isinstance(value, dict) or value.get("kind") != KIND:
                kind = value.get("kind", "no kind") if isinstance(value, dict) else "no mapping"
                if not passes_over_others:
                    problems.append(f"{origin}: expected a document of kind {KIND}, found {kind}")
                continue
            try:
                found.append(_Found(parse(value), origin))
            except SpecError as error:
                places = ((line_of(data, document.index, (*path, *item.path)), item) for item in error.problems)
                for at, item in sorted(places, key=lambda place: place[0]):
                    field = ".".join(str(part) for part in item.path)
                    problems.append(f"{origin._replace(line=at)}: {field}: {item.message}")
    return found, problems


def _items(document: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """What one document holds, with its place in it: itself, or the items of a list such as kubectl prints."""
    if isinstance(document, dict) and document.get("kind") == "List" and isinstance(document.get("items"), list):
        yield from ((("items", index), item) for index, item in enumerate(document["items"]))
    else:
        yield (), document


def _doubles(found: list[_Found]) -> Iterator[str]:
    """Two Syncs of one name would share one apply-config object, and prune each other's objects."""
    seen: dict[str, _Found] = {}
    for item in found:
        first = seen.setdefault(item.sync.id, item)
        if first is not item:
            yield f"{item.origin}: Sync {item.sync.id} is already defined in {first.origin}"
