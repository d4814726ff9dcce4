"""Finding the API server and proving who is asking: kubeconfig files and in-cluster credentials.

The official client's configuration loading does the work (certificates, tokens, exec plugins, proxies); nothing else of
it is used. It takes most of a second to import, so it is imported when it is needed.
"""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from syncd.cluster.errors import ClusterConfigError, UnreachableError
from syncd.cluster.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import urllib3

    from syncd.cluster.transport import Observation

POOL_SIZE: Final = 64
"""Idle connections kept; more may be open at a time. Fewer than there are workers would mean reconnecting."""

_TOKEN_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def connect(
    kubeconfig: Path | None = None,
    context: str | None = None,
    user_agent: str = "syncd",
    *,
    before_write: Callable[[], None] | None = None,
    observer: Callable[[Observation], None] | None = None,
) -> Transport:
    """Make a transport to the API server; the first request opens the connection.

    Args:
        kubeconfig: The file to use. Without it, what kubectl would: the files in ``KUBECONFIG``, the Pod's own
            credentials when running in a cluster, ``~/.kube/config``.
        context: The context in it; its current one by default.
        user_agent: What the server's audit log calls us.
        before_write: See :class:`Transport`.
        observer: See :class:`Transport`.

    Raises:
        ClusterConfigError: There is no usable configuration.
    """
    files = _kubeconfig_files(kubeconfig, context)
    return Transport(
        lambda: KubernetesSession(files, context), user_agent=user_agent, before_write=before_write, observer=observer
    )


class KubernetesSession:
    """A way to one API server as the official client's configuration describes it.

    Args:
        files: Kubeconfig files, separated as in ``KUBECONFIG``; empty for the Pod's own credentials.
        context: The context; the current one when None.
    """

    def __init__(self, files: str, context: str | None) -> None:
        self._configuration, self._client = _load(files, context)
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """Where the server is."""
        return str(self._configuration.host).rstrip("/")

    @property
    def pool(self) -> urllib3.PoolManager:
        """The connections, with the right certificates and proxy."""
        pool: urllib3.PoolManager = self._client.rest_client.pool_manager
        return pool

    def authorization(self, timeout: float) -> Mapping[str, str]:
        """The Authorization header; runs the client's hook that reads a rotated token or asks an exec plugin again.

        Raises:
            UnreachableError: Another thread's exec plugin keeps us waiting.
            ClusterConfigError: The credentials cannot be renewed.
        """
        headers: dict[str, str] = {}
        if not self._lock.acquire(timeout=timeout):
            raise UnreachableError("the credential plugin of the kubeconfig does not answer")
        try:
            self._client.update_params_for_auth(headers, [], ["BearerToken"], "", "", None)
        except Exception as error:  # noqa: BLE001 - exec plugins and files fail in every possible way
            raise ClusterConfigError(f"the credentials cannot be renewed: {_harmless(error)}") from None
        finally:
            self._lock.release()
        return headers


def _kubeconfig_files(kubeconfig: Path | None, context: str | None) -> str:
    """Choose between files and, by an empty answer, the Pod's own credentials."""
    if kubeconfig is not None:
        if not kubeconfig.is_file():
            raise ClusterConfigError(f"there is no kubeconfig at {kubeconfig}")
        return str(kubeconfig)
    if named := os.environ.get("KUBECONFIG", ""):
        if not any(Path(part).expanduser().is_file() for part in named.split(os.pathsep) if part):
            raise ClusterConfigError(f"KUBECONFIG names no file that exists: {named}")
        return named
    default = Path("~/.kube/config").expanduser()
    if os.environ.get("KUBERNETES_SERVICE_HOST") and _TOKEN_FILE.is_file() and context is None:
        return ""
    if default.is_file():
        return str(default)
    raise ClusterConfigError(
        "no cluster to talk to: give a kubeconfig, set KUBECONFIG, have ~/.kube/config, or run in a cluster"
    )


def _load(files: str, context: str | None) -> tuple[Any, Any]:
    """Let the official client read its configuration; returns it and a client made from it."""
    from kubernetes import client, config  # noqa: PLC0415 - most of a second, and `syncd version` needs none of it

    configuration = client.Configuration()
    configuration.connection_pool_maxsize = POOL_SIZE
    configuration.keep_alive = True
    configuration.retries = False
    try:
        if files:
            config.load_kube_config(  # type: ignore[no-untyped-call] # the package says nothing of its types here
                config_file=files, context=context, client_configuration=configuration, persist_config=False
            )
        else:
            config.load_incluster_config(configuration)  # type: ignore[no-untyped-call] # the same
        return configuration, client.ApiClient(configuration)
    except Exception as error:  # noqa: BLE001 - whatever a malformed file makes the loader stumble over
        place = files or "the Pod's service account"
        raise ClusterConfigError(f"{place} is not a usable cluster configuration: {_harmless(error)}") from None


def _harmless(error: Exception) -> str:
    """The error's text without the pieces of the file, credentials among them, that the loader puts into it."""
    text = str(error) or type(error).__name__
    return " ".join(re.sub(r"\{.*\}", "{…}", text, flags=re.DOTALL).split())[:300]
