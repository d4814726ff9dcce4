"""A Pod in three words: how ready, in which state, how often restarted; as the real server's printer tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from syncd.model import JSONObject


def ready(pod: JSONObject) -> str:
    """Ready containers of all."""
    statuses = pod.get("status", {}).get("containerStatuses") or ()
    return f"{sum(bool(status.get('ready')) for status in statuses)}/{len(pod['spec'].get('containers') or ())}"


def restarts(pod: JSONObject) -> str:
    """Restarts of all containers together."""
    statuses = pod.get("status", {}).get("containerStatuses") or ()
    return str(sum(status.get("restartCount", 0) for status in statuses))


def status(pod: JSONObject) -> str:
    """The phase, or what is more telling: why a container waits or ended, or that the Pod goes away."""
    found = pod.get("status", {})
    text = str(found.get("reason") or found.get("phase") or "")
    for container in reversed(found.get("containerStatuses") or ()):
        state = container.get("state") or {}
        waiting, terminated = state.get("waiting") or {}, state.get("terminated") or {}
        if waiting.get("reason"):
            text = str(waiting["reason"])
        elif terminated.get("reason"):
            text = str(terminated["reason"])
        elif terminated:
            text = (
                f"Signal:{terminated['signal']}" if terminated.get("signal") else f"ExitCode:{terminated['exitCode']}"
            )
    return "Terminating" if "deletionTimestamp" in pod["metadata"] else text
