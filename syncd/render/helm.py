"""Charts of the repository, rendered by the real Helm as ``helm template`` does, without a cluster and a network.

Helm's hooks are not run: a hook is refused unless the Sync says what becomes of it. Tests are always left out.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

import orjson

from syncd.kubeyaml import Document, YAMLError, load_all
from syncd.render.errors import InvalidManifestError, RenderFailedError
from syncd.render.objects import manifests_of
from syncd.render.runner import ToolFailedError
from syncd.render.workspace import Workspace, workspace
from syncd.source.errors import LimitExceededError, UnsupportedContentError
from syncd.source.objects import EntryType
from syncd.source.snapshot import is_below, join
from syncd.spec import HelmRender

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syncd.model import InvalidInputError, Manifest, Origin
    from syncd.render.job import Job
    from syncd.render.surroundings import Capabilities
    from syncd.source.tree import Tree

CHART_FILE: Final = "Chart.yaml"
_HOOK: Final = "helm.sh/hook"
_UNKNOWN_HOOK: Final = re.compile(rb"skipping unknown hooks?\W+(?:hookTypes=)?\W*([\w, -]+)")
"""What Helm, when asked to be talkative, says when it drops a document."""
_SOURCE: Final = re.compile(rb"# Source: (\S+)\s*$")
_NAMED: Final = re.compile(r"([\w.-]+/[\w./-]+\.[a-z]+)(?::(\d+))?")
_LONGEST_NAME: Final = 53  # Helm's own limit for a release's name


def build(job: Job, chart: str) -> list[Manifest]:
    """Render the chart in a folder, given from the root of the repository.

    Raises:
        InvalidInputError: One of its subclasses tells what is wrong with the chart or the values.
        RenderTimeoutError: The deadline passed.
    """
    tree, options = job.tree, _options(job)
    values = [_inside(tree, join(tree.folder, path)) for path in options.values_files]
    tree.check(entry.path for entry in tree.below(chart) if entry.type is not EntryType.FOLDER)
    own = tree.origin(join(chart, CHART_FILE))
    release = options.release_name or _chart_name(tree, chart)
    with workspace(tree, [chart], values) as place:
        inline = place.home / "values.json"
        inline.write_bytes(orjson.dumps(options.values))
        command = [*job.tool.command, release[:_LONGEST_NAME], str(place.files / chart)]
        command += [f"--values={file}" for file in (*(place.files / path for path in values), inline)]
        command += [f"--namespace={job.spec.target.namespace or 'default'}", *_flags(options, job.capabilities)]
        try:
            output = job.runner.run(command, home=place.home, deadline=job.deadline, environment=_environment(place))
        except ToolFailedError as failure:
            raise _explained(failure, place, tree, chart) from None
    unknown = _UNKNOWN_HOOK.search(output.stderr)
    if unknown is not None and options.hooks != "Omit":
        problem = f"helm leaves out a hook of a kind that it does not know ({unknown.group(1).decode()})"
        raise RenderFailedError(f"{problem}; if that is right, set spec.render.helm.hooks to Omit", own)
    return list(_manifests(job, chart, output.stdout))


def _options(job: Job) -> HelmRender:
    return job.spec.render.helm or HelmRender()


def _flags(options: HelmRender, capabilities: Capabilities) -> list[str]:
    kube_version = options.kube_version or capabilities.kube_version
    flags = ["--skip-tests", "--debug"]  # talkative: see _UNKNOWN_HOOK
    if options.include_crds:
        flags.append("--include-crds")
    if kube_version:
        flags.append(f"--kube-version={kube_version}")
    return flags + [f"--api-versions={version}" for version in options.api_versions or capabilities.api_versions]


def _environment(place: Workspace) -> dict[str, str]:
    names = ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HELM_PLUGINS")
    return dict.fromkeys(names, str(place.home))


def _inside(tree: Tree, path: str) -> str:
    """A values file's path; it must be below the Sync's path, or a change of it would go unnoticed."""
    path = posixpath.normpath(path)
    if not is_below(path, tree.folder):
        raise UnsupportedContentError("a values file must be below the Sync's path", tree.origin(path))
    tree.check([path])
    return path


def _chart_name(tree: Tree, chart: str) -> str:
    """What the chart calls itself."""
    path = join(chart, CHART_FILE)
    documents = load_all(tree.read([path])[path], tree.origin(path))
    value = documents[0].value if documents else None
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name):
        raise RenderFailedError("the chart has no name that a release could have; set releaseName", tree.origin(path))
    return name


def _manifests(job: Job, chart: str, output: bytes) -> Iterator[Manifest]:
    sources = _Sources(output, job.tree, chart)
    try:
        documents = load_all(output)
    except YAMLError as error:
        origin = sources.origin(error.origin.line if error.origin else 0)
        raise RenderFailedError(f"what helm rendered cannot be read: {error.problem}", origin) from None
    hooks_apply = _options(job).hooks
    for document in documents:
        origin = sources.origin(document.line)
        for manifest in manifests_of([Document(document.value, 0, 0)], b"", origin, job.errors):
            hook = str((manifest.body["metadata"].get("annotations") or {}).get(_HOOK, ""))
            if not hook or hooks_apply == "Apply":
                yield manifest
            elif hooks_apply == "Refuse":
                problem = f"{manifest.key.display()} is a Helm hook ({hook}), which syncd does not run; say in "
                job.errors.append(InvalidManifestError(f"{problem}spec.render.helm.hooks what becomes of it", origin))


class _Sources:
    """Which template wrote which line of the output: Helm puts its name before each document."""

    def __init__(self, output: bytes, tree: Tree, chart: str) -> None:
        named = ((number, _SOURCE.match(line)) for number, line in enumerate(output.splitlines(), start=1))
        found = [(number, match.group(1).decode(errors="replace")) for number, match in named if match]
        self._lines = [number for number, _ in found]
        self._names = [name for _, name in found]
        self._tree = tree
        self._chart = chart

    def origin(self, line: int) -> Origin:
        index = bisect_right(self._lines, line)
        return _origin(self._names[index - 1] if index else "", self._tree, self._chart)


def _origin(named: str, tree: Tree, chart: str) -> Origin:
    """The file that Helm names by the chart's name and the path in it; the chart's own file if that is none."""
    path = posixpath.normpath(join(chart, named.partition("/")[2]))
    entry = tree.entries.get(path)
    return tree.origin(path if entry is not None and entry.type is EntryType.FILE else join(chart, CHART_FILE))


def _explained(failure: ToolFailedError, place: Workspace, tree: Tree, chart: str) -> InvalidInputError:
    message = place.message(failure.stderr)
    own = tree.origin(join(chart, CHART_FILE))
    if "out of memory" in message or "cannot allocate memory" in message:
        return LimitExceededError("helm needs more memory than it may have: does a template loop?", own)
    for named, line in _NAMED.findall(message):
        origin = _origin(named, tree, chart)
        if origin != own:
            return RenderFailedError(f"helm: {message}", origin._replace(line=int(line or 0)))
    return RenderFailedError(f"helm: {message}", own)
