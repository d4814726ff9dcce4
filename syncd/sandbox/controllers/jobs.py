"""Jobs: as many Pods as there are completions, which end at once; CronJobs start nothing, the sandbox is quiet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox.controllers.base import (
    MANAGER,
    POD,
    Key,
    condition,
    is_controlled_by,
    is_deleting,
    key_of,
    owned_or_own,
    seconds_since,
    timestamp,
    update_status,
)
from syncd.sandbox.controllers.replicas import pod_from
from syncd.sandbox.kinds import built_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Event, Objects

JOB = built_in("batch", "Job")
_DONE = "Reached expected number of succeeded pods"


class Jobs:
    """Runs Jobs."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def keys(self, event: Event) -> Iterable[Key]:
        """The Job itself, or that of one of its Pods."""
        return owned_or_own(event, JOB, POD)

    def reconcile(self, key: Key) -> float | None:
        """See :class:`~syncd.sandbox.controllers.base.Controller`."""
        job = self._objects.find(JOB, *key)
        if job is None or is_deleting(job):
            return None
        status = job.get("status", {})
        if status.get("completionTime"):
            return self._expire(job)
        pods = [pod for pod in self._objects.list(POD, key.namespace) if is_controlled_by(pod, job)]
        succeeded = sum(pod.get("status", {}).get("phase") == "Succeeded" for pod in pods)
        wanted = job["spec"].get("completions") or job["spec"]["parallelism"]
        running = len(pods) - succeeded
        if not job["spec"]["suspend"]:
            for index in range(len(pods), min(wanted, succeeded + job["spec"]["parallelism"])):
                self._objects.create(POD, _pod(job, index), manager=MANAGER)
                running += 1
        update_status(self._objects, JOB, job, _status(job, running, succeeded, wanted))
        return None

    def _expire(self, job: JSONObject) -> float | None:
        """Delete a finished Job when its time is over; seconds until then."""
        keep = job["spec"].get("ttlSecondsAfterFinished")
        if keep is None:
            return None
        left: float = keep - seconds_since(job["status"]["completionTime"])
        if left > 0:
            return left
        self._objects.delete(JOB, *key_of(job), uid=job["metadata"]["uid"])
        return None


def _pod(job: JSONObject, index: int) -> JSONObject:
    pod = pod_from(job["spec"]["template"], job)
    if job["spec"]["completionMode"] != "Indexed":
        return pod
    mark = {"batch.kubernetes.io/job-completion-index": str(index)}
    metadata = pod["metadata"]
    marks = {field: (metadata.get(field) or {}) | mark for field in ("labels", "annotations")}
    return pod | {"metadata": metadata | marks}


def _status(job: JSONObject, running: int, succeeded: int, wanted: int) -> JSONObject:
    old: JSONObject = job.get("status", {})
    if job["spec"]["suspend"]:
        return old | {"conditions": [condition(job, "Suspended", "True", "JobSuspended", "Job suspended")]}
    status: JSONObject = {
        "startTime": old.get("startTime") or timestamp(),
        "active": running,
        "succeeded": succeeded,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }
    if job["spec"]["completionMode"] == "Indexed" and succeeded:
        status["completedIndexes"] = f"0-{succeeded - 1}" if succeeded > 1 else "0"
    if succeeded >= wanted:
        status["completionTime"] = timestamp()
        status["conditions"] = [
            condition(job, kind, "True", "CompletionsReached", _DONE) | {"lastProbeTime": timestamp()}
            for kind in ("SuccessCriteriaMet", "Complete")
        ]
    return status
