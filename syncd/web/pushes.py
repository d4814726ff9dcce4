"""What Git servers send when somebody pushes: who they are, and which repository they speak of.

One row for each kind of server. All but GitLab sign the body with a secret (HMAC); GitLab sends the secret itself.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from syncd.source.urls import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_DIGESTS: Final = {"sha256": hashlib.sha256, "sha512": hashlib.sha512}


@dataclass(frozen=True, slots=True)
class Forge:
    """A kind of Git server.

    Attributes:
        name: As in the hook's path.
        signatures: Headers, any one of which proves who sends.
        event: Headers that name the event; none for a server that has only one.
        pushes: The events that mean a push; all others are accepted and nothing comes of them.
        places: The repository that a payload speaks of.
        is_token: Whether the signature is the secret itself.
    """

    name: str
    signatures: tuple[str, ...]
    event: tuple[str, ...]
    pushes: frozenset[str]
    places: Callable[[Mapping[str, Any]], Iterable[Place]]
    is_token: bool = False

    def trusts(self, headers: Mapping[str, str], body: bytes, secrets: Iterable[bytes]) -> bool:
        """Whether the sender knows one of the secrets. Takes the same time whatever is wrong with a signature."""
        given = [headers[name] for name in self.signatures if headers.get(name)]
        # A list, so that all are compared whichever is right.
        return any([self._proves(text, body, secret) for text in given for secret in secrets])  # noqa: C419 - see above

    def _proves(self, signature: str, body: bytes, secret: bytes) -> bool:
        if self.is_token:
            return hmac.compare_digest(signature.encode("utf-8", "replace"), secret)
        algorithm, separator, value = signature.rpartition("=")
        if separator and algorithm not in _DIGESTS:
            return False
        wanted = hmac.new(secret, body, _DIGESTS[algorithm or "sha256"]).hexdigest()
        return hmac.compare_digest(value.strip().lower().encode("utf-8", "replace"), wanted.encode("ascii"))

    def is_push(self, headers: Mapping[str, str]) -> bool:
        """Whether the event is a push of branches or tags."""
        return not self.event or any(headers.get(name) in self.pushes for name in self.event)


def _named(*fields: str) -> Callable[[Mapping[str, Any]], list[Place]]:
    """The places of URLs at these dotted fields of a payload, as far as they are there."""

    def places(payload: Mapping[str, Any]) -> list[Place]:
        found = (_at(payload, field.split(".")) for field in fields)
        return [Place.of(url) for url in found if isinstance(url, str) and url]

    return places


def _at(value: Any, keys: Iterable[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _bitbucket(payload: Mapping[str, Any]) -> list[Place]:
    """Cloud names its page; Data Center names URLs to clone, but not in all versions, and always project and slug."""
    found = _named("repository.links.html.href")(payload)
    clone = _at(payload, ("repository", "links", "clone"))
    for link in clone if isinstance(clone, list) else []:
        found += _named("href")(link if isinstance(link, dict) else {})
    project, slug = (_at(payload, ("repository", *keys)) for keys in (("project", "key"), ("slug",)))
    if isinstance(project, str) and isinstance(slug, str) and project and slug:
        found.append(Place("", f"{project}/{slug}".lower()))
    return found


_GITHUB: Final = _named("repository.clone_url", "repository.ssh_url", "repository.html_url")
_GITLAB: Final = _named("project.git_http_url", "project.git_ssh_url", "project.web_url")

FORGES: Final[Mapping[str, Forge]] = {
    forge.name: forge
    for forge in (
        Forge("github", ("x-hub-signature-256",), ("x-github-event",), frozenset({"push"}), _GITHUB),
        Forge(
            "gitea",  # Forgejo sends both its own headers and Gitea's
            ("x-gitea-signature", "x-forgejo-signature"),
            ("x-gitea-event", "x-forgejo-event"),
            frozenset({"push", "create", "delete"}),
            _GITHUB,
        ),
        Forge(
            "gitlab",
            ("x-gitlab-token",),
            ("x-gitlab-event",),
            frozenset({"Push Hook", "Tag Push Hook", "System Hook"}),
            _GITLAB,
            is_token=True,
        ),
        Forge(
            "bitbucket",
            ("x-hub-signature",),
            ("x-event-key",),
            frozenset({"repo:push", "repo:refs_changed", "mirror:repo_synchronized"}),
            _bitbucket,
        ),
        Forge("generic", ("x-signature",), (), frozenset(), _named("url")),
    )
}
"""Every kind of server that may call, by the name in the hook's path."""
