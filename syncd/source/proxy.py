"""The proxy through which a repository is reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from syncd.source.errors import InvalidCredentialsError
from syncd.source.secrets import SecretPlace
from syncd.spec.source import PROXY_ADDRESS

if TYPE_CHECKING:
    from syncd.source.secrets import SecretReader
    from syncd.spec import GitProxy


@dataclass(frozen=True, slots=True)
class ProxyAddress:
    """A proxy, and how to log in to it. What logs in is never shown by ``repr``."""

    address: str
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def login(self) -> str:
        """``user:password``; "" without."""
        return f"{self.username}:{self.password}" if self.username or self.password else ""

    @property
    def url(self) -> str:
        """The address with the login in it, for configuration that nobody else can read."""
        if not self.login:
            return self.address
        scheme, _, host = self.address.partition("://")
        return f"{scheme}://{quote(self.username, safe='')}:{quote(self.password, safe='')}@{host}"


class Proxy(NamedTuple):
    """What a Sync says about its proxy."""

    address: str
    secret: SecretPlace | None

    @classmethod
    def of(cls, proxy: GitProxy | None, namespace: str) -> Proxy | None:
        """The proxy of a Sync in a namespace, if it has one."""
        if proxy is None:
            return None
        return cls(proxy.address or "", SecretPlace.of(proxy.secret_file, proxy.secret_ref, namespace))

    def look_up(self, reader: SecretReader) -> ProxyAddress:
        """The proxy as its Secret describes it now.

        Raises:
            InvalidCredentialsError: There is no address, or none that can be used.
            SyncdError: The Secret cannot be read.
        """
        data = self.secret.read(reader) if self.secret else {}
        try:
            address, username, password = (
                data.get(name, b"").decode("utf-8").strip() for name in ("address", "username", "password")
            )
        except UnicodeDecodeError:
            raise InvalidCredentialsError(f"the proxy's Secret {self.secret} does not hold text") from None
        address = self.address or address
        if not PROXY_ADDRESS.match(address):
            raise InvalidCredentialsError(
                "the proxy's address must be like http://proxy.example.com:3128, without a user in it; "
                "it is spec.source.git.proxy.address, or the key address of the proxy's Secret"
            )
        return ProxyAddress(address, username, password)
