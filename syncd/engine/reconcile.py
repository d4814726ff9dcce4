"""One reconcile, from a revision to its outcomes: each step's result is what the next one takes.

    resolve -> render -> desired -> observe -> plan -> write ahead -> apply -> prune -> trim

Killed between any two requests, the next reconcile ends in the same state: an object's key is in the apply-config
object on the server before the object is made, and leaves it only when its deletion is confirmed or it was given up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from syncd.engine import home, listing
from syncd.engine.basis import Basis, Inputs
from syncd.engine.claims import Claims
from syncd.engine.diagnose import diagnose
from syncd.engine.inventory import InventoryStore, own_key
from syncd.engine.kinds import look_up
from syncd.engine.memory import Memory
from syncd.engine.observe import observe, observe_part, probe
from syncd.engine.owned import release_all
from syncd.engine.perform import Prepared, Stopwatch, carry_out, foregone, prune, remember_settled
from syncd.engine.rehearse import rehearse
from syncd.engine.result import Reconciliation
from syncd.engine.work import Work
from syncd.model import GroupKind, Outcome, Revision, SyncdError
from syncd.plan.build import build
from syncd.plan.desired import DesiredSet, resolve
from syncd.plan.prune import PENDING
from syncd.plan.settings import FREE, Policy
from syncd.plan.windows import hold
from syncd.render import duplicates

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Executor

    from syncd.cluster import Cluster
    from syncd.engine.deadline import Deadline
    from syncd.engine.sources import Sources
    from syncd.inventory import ApplyConfig, Owner
    from syncd.merge.schema import PatchSchema
    from syncd.model import ObjectKey
    from syncd.plan.settings import Restraint
    from syncd.spec import Sync

_GONE_PAUSE = 0.2
"""Seconds between two looks at objects that are on their way out."""


class InventoryInDoubtError(SyncdError):
    """What a Sync owns is not known for sure."""

    reason = "InventoryInDoubt"


class Reconciler:
    """Reconciles Syncs with one cluster.

    May be used by several threads, each with a Sync and a memory of its own.
    """

    def __init__(
        self,
        cluster: Cluster,
        sources: Sources,
        pool: Executor,
        syncs: Iterable[Sync] = (),
        *,
        default_account: str = "",
    ) -> None:
        """Begin.

        Args:
            cluster: Where to, in syncd's own name: inventories are read and written in it, all else in the Sync's.
            sources: Where from.
            pool: Where requests that may go in parallel run.
            syncs: All Syncs that this process knows at first.
            default_account: The ServiceAccount of Syncs that name none; "" for syncd's own name.
        """
        self._cluster = cluster
        self._default_account = default_account
        self._sources = sources
        self._pool = pool
        self._claims = Claims(syncs, self._wanted)

    def follow(self, sync: Sync) -> None:
        """Know of a Sync, new or changed: it may want what another one drops."""
        self._claims.follow(sync)

    def drop_claims(self, sync_id: str) -> None:
        """Know that a Sync wants nothing any more that another one drops."""
        self._claims.forget(sync_id)

    def forget(self, sync_id: str) -> None:
        """Know of a Sync no more, and let go of what was watched for it."""
        self._claims.forget(sync_id)
        self._cluster.forget(sync_id)

    def cluster_of(self, sync: Sync) -> Cluster:
        """The cluster, asked in the Sync's own name."""
        return self._cluster.acting_for(sync.id, sync.user(self._default_account))

    def resolve(self, sync: Sync, deadline: Deadline, max_age: float = 0.0) -> Revision:
        """The revision that the Sync's source has now, or had at most so many seconds ago."""
        return self._sources.resolve(sync, deadline, max_age)

    def plan(self, sync: Sync, revision: Revision, memory: Memory, deadline: Deadline) -> Reconciliation:
        """Say what a reconcile would do, and do nothing: not even the apply-config object is made."""
        watch = Stopwatch()
        work = Work(sync, revision, self.cluster_of(sync), memory, self._pool, deadline)
        store = InventoryStore(self._cluster, sync, memory, elsewhere=work.cluster)
        with watch.stage("render"):
            desired = self._desired(work)
        inventory = home.foresee(work, store, store.read(deadline), desired)
        prepared = self._prepare(work, inventory, desired, self._policy(work, inventory), watch, look_closer=True)
        with watch.stage("plan"):
            plan = rehearse(work, prepared.plan, prepared.policy)
        return Reconciliation(revision, plan, (), watch.durations, inventory.uid, len(inventory.keys))

    def reconcile(
        self, sync: Sync, revision: Revision, memory: Memory, deadline: Deadline, restraint: Restraint = FREE
    ) -> Reconciliation:
        """Make the cluster equal to a revision, as far as the moment allows.

        Raises:
            SyncdError: It could not come to a plan, or the apply-config object could not be written. What fails object
                by object is in the result instead.
        """
        watch = Stopwatch()
        work = Work(sync, revision, self.cluster_of(sync), memory, self._pool, deadline, restraint)
        store = InventoryStore(self._cluster, sync, memory, elsewhere=work.cluster)
        with watch.stage("observe"):
            inventory = store.read(deadline)
        with watch.stage("render"):
            desired = self._desired(work)  # first: what cannot be rendered leaves no trace, not even an empty list
        if restraint.changes:
            return self._only_say(work, home.foresee(work, store, inventory, desired), desired, watch)
        if not inventory.uid:
            inventory = store.create(deadline)
        with watch.stage("observe"):
            settled = home.settle(work, store, inventory, desired, self._policy(work, inventory))
        inventory = settled.inventory
        policy = self._policy(work, inventory)
        inputs = Inputs.now(desired, inventory, policy, work.cluster.live)
        basis, memory.basis = memory.basis, None  # until it is known how this ends
        focus = basis.focus(inputs, work.cluster.live) if basis else None
        prepared = self._prepare(work, inventory, desired, policy, watch, focus=focus)
        result = settled.retell(carry_out(work, store, prepared, watch))
        if basis and focus is not None:
            result = basis.extended(result)
        memory.basis = Basis.of(inputs, prepared.observed, result, basis)
        return result

    def _only_say(self, work: Work, inventory: ApplyConfig, desired: DesiredSet, watch: Stopwatch) -> Reconciliation:
        """What would be done if the moment did not forbid all changes."""
        prepared = self._prepare(work, inventory, desired, self._policy(work, inventory), watch)
        remember_settled(prepared, work.memory)
        held = work.restraint.changes
        plan = hold(prepared.plan, held)
        outcomes = tuple(map(foregone, plan.actions))
        return Reconciliation(
            work.revision, plan, outcomes, watch.durations, inventory.uid, len(inventory.keys), held=held
        )

    def diagnose(self, sync: Sync, keys: Iterable[ObjectKey], deadline: Deadline) -> dict[ObjectKey, tuple[str, ...]]:
        """What the cluster says about why objects are not ready, in lines: their last events, and their Pods'."""
        cluster = self.cluster_of(sync)
        return {key: diagnose(cluster, key, deadline) for key in keys}

    def destroy(self, sync: Sync, deadline: Deadline) -> tuple[Outcome, ...]:
        """Delete all that a Sync has applied, in reverse order, and its apply-config object last; or release it all.

        Waits until everything is gone. Whatever the guards keep stays, and then so does the apply-config object.

        Returns:
            What was kept or failed; nothing if the Sync left no trace.

        Raises:
            SyncdError: The inventory is in doubt, or could not be read or written.
        """
        work = Work(sync, Revision("", "", ""), self.cluster_of(sync), Memory(), self._pool, deadline)
        store = InventoryStore(self._cluster, sync, elsewhere=work.cluster)
        inventory = store.read(deadline)
        if inventory.damage:
            raise InventoryInDoubtError(f"{inventory.damage}; look at it, then run: syncd inventory rebuild {sync.id}")
        if inventory.brought:
            # What came along from Git goes with the other objects, and the list is needed until the end.
            inventory = store.move(inventory, store.home(), deadline)
        store.clear(inventory, deadline)
        owner = inventory.owner(sync.id)
        if inventory.uid and sync.spec.deletion_policy == "Orphan":
            release_all(work.cluster, inventory.keys, owner, deadline)
            inventory = store.write(inventory, frozenset(), frozenset(), deadline)
        while inventory.keys:
            outcomes = self._prune_all(work, inventory, owner)
            left = listing.remaining(inventory.keys, outcomes)
            progress = left != inventory.keys or any(outcome.action.reason in PENDING for outcome in outcomes)
            inventory = store.write(inventory, left, left, deadline)
            if left and not progress:
                return outcomes
            deadline.check(f"waiting until {len(left)} objects of {sync.id} are gone")
            deadline.wait(_GONE_PAUSE if left else 0)
        if inventory.uid:
            store.remove(inventory, deadline)
        return ()

    def _prune_all(self, work: Work, inventory: ApplyConfig, owner: Owner) -> tuple[Outcome, ...]:
        """One round of deleting everything that may go."""
        nothing, policy = DesiredSet((), ()), self._policy(work, inventory)
        observed = observe(work, owner, nothing, inventory, self._claims)
        if observed.claims_doubt:
            raise InventoryInDoubtError(observed.claims_doubt)
        plan = build(nothing, observed, policy, unlimited=True)
        return prune(work, Prepared(nothing, inventory, observed, policy, plan))

    def _policy(self, work: Work, inventory: ApplyConfig) -> Policy:
        spec, owner = work.sync.spec, inventory.owner(work.sync.id)
        return Policy(
            owner,
            spec.drift,
            spec.prune,
            self._schema,
            spec.adopt,
            work.revision.commit,
            work.restraint,
            spec.merge,
            spec.release,
            spec.replace,
        )

    def _prepare(
        self,
        work: Work,
        inventory: ApplyConfig,
        desired: DesiredSet,
        policy: Policy,
        watch: Stopwatch,
        *,
        look_closer: bool = False,
        focus: frozenset[ObjectKey] | None = None,
    ) -> Prepared:
        """Look and plan.

        Args:
            work: The reconcile.
            inventory: The apply-config object.
            desired: What Git wants.
            policy: The Sync's rules.
            watch: Takes the time.
            look_closer: Also read what the live cache cannot know, because it has no owner yet.
            focus: The objects to look at, if the others are known to need nothing.
        """
        work.memory.judge_by(work.sync.spec, inventory.uid)
        part = desired if focus is None else desired.only(focus)
        with watch.stage("observe"):
            if focus is None:
                observed = observe(work, policy.owner, desired, inventory, self._claims)
            else:
                observed = observe_part(work, part, inventory)
            if look_closer:
                unseen = (desired.by_key.keys() | inventory.keys) - observed.live.keys()
                observed = replace(observed, live={**observed.live, **probe(work, sorted(unseen))})
        with watch.stage("plan"):
            plan = build(part, observed, policy)
        return Prepared(desired, inventory, observed, policy, plan)

    def _desired(self, work: Work) -> DesiredSet:
        """What Git wants, resolved anew only when the manifests or what the server serves have changed."""
        memory = work.memory
        manifests = self._sources.manifests(work.sync, work.revision, work.deadline)
        resources = self._cluster.discovery.resources()
        known = memory.manifests is manifests and memory.discovery is resources
        if memory.desired is None or memory.desired.unknown or not known:
            target, own = work.sync.spec.target, own_key(work.sync)
            desired = resolve(manifests, namespaced=self._namespaced, target=target, reserved=own)
            duplicates(item.manifest for item in desired.objects)  # once more: now that namespaces are filled in
            memory.want(desired)
            self._claims.note(work.sync, frozenset(desired.by_key))
            memory.manifests, memory.discovery = manifests, self._cluster.discovery.resources()
        assert memory.desired is not None  # noqa: S101 - it was resolved just now, or before
        return memory.desired

    def _wanted(self, sync: Sync, deadline: Deadline, max_age: float) -> frozenset[ObjectKey]:
        """What a Sync's source wants now, or wanted at most so many seconds ago."""
        manifests = self._sources.manifests(sync, self._sources.resolve(sync, deadline, max_age), deadline)
        desired = resolve(manifests, namespaced=self._namespaced, target=sync.spec.target)
        return frozenset(desired.by_key)

    def _namespaced(self, api_version: str, kind: GroupKind) -> bool | None:
        resource = look_up(self._cluster.discovery, api_version, kind.kind)
        return None if resource is None else resource.namespaced

    def _schema(self, api_version: str, kind: str) -> PatchSchema | None:
        resource = look_up(self._cluster.discovery, api_version, kind)
        return None if resource is None else self._cluster.schemas.schema_for(resource)
