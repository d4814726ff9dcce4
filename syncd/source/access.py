"""How one repository is reached: with whose credentials, and through which proxy."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from syncd.source import credentials, github
from syncd.source.command import SSH, GitCommandFailedError
from syncd.source.errors import InvalidCredentialsError
from syncd.source.urls import transport

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from syncd.source.github import AppTokens
    from syncd.source.proxy import Proxy, ProxyAddress
    from syncd.source.secrets import SecretPlace, SecretReader


@dataclass(frozen=True, slots=True)
class Access:
    """What a Sync says about it. Secrets are read for each use, as they may be replaced.

    Attributes:
        secret: Where the credentials are; None for a public repository.
        proxy: The way; None for the straight one.
        reader: Reads Secrets.
        tokens: Those of GitHub Apps.
    """

    secret: SecretPlace | None
    proxy: Proxy | None
    reader: SecretReader
    tokens: AppTokens

    @property
    def identity(self) -> str:
        """Equal for those who may read the same: the place of the credentials."""
        return str(self.secret) if self.secret else ""

    @contextmanager
    def opened(self, url: str, home: Path, deadline: float) -> Iterator[dict[str, str]]:
        """The environment in which one Git command reaches the repository.

        Args:
            url: The repository.
            home: Where a private folder may be made for as long as the command runs.
            deadline: On ``time.monotonic()``'s clock.

        Raises:
            SyncdError: There are no usable credentials.
        """
        if self.secret is None and self.proxy is None:
            yield {}
            return
        found = credentials.Credentials.of(self.secret.read(self.reader) if self.secret else {})
        proxy = self.proxy.look_up(self.reader) if self.proxy else None
        app = found.app
        if app is not None and transport(url) == "ssh":
            raise InvalidCredentialsError("a GitHub App is for https URLs, not for ssh")
        found = self._with_token(found, proxy, deadline)
        try:
            with credentials.in_use(found, url, home=home, ssh=SSH, proxy=proxy) as variables:
                yield variables
        except GitCommandFailedError:
            if app is not None:
                self.tokens.forget(app)  # it may have been revoked
            raise

    def _with_token(
        self, found: credentials.Credentials, proxy: ProxyAddress | None, deadline: float
    ) -> credentials.Credentials:
        if found.app is None:
            return found
        token = self.tokens.token(found.app, proxy, deadline)
        return replace(found, username=github.USERNAME, password=token, bearer_token="")
