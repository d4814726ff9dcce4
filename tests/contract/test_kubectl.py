"""The real kubectl, which knows nothing of this project, works on both servers alike."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.client import path
from tests.contract.customs import defined, wait_published

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from tests.contract.client import Client
    from tests.contract.servers import Server
    from tests.support.kubectl import Kubectl

    Run = Callable[..., str]

SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {colour: blue, size: "1"}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "web:1", ports: [{containerPort: 80}]}
"""


@pytest.fixture
def kubectl(server: Server) -> Kubectl:
    return server.kubectl


@pytest.fixture
def run(kubectl: Kubectl, namespace: str) -> Run:
    """Runs kubectl in the test's namespace; what it prints."""
    return lambda *arguments, stdin="": kubectl("-n", namespace, *arguments, stdin=stdin)


@pytest.fixture
def attempt(kubectl: Kubectl, namespace: str) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs kubectl in the test's namespace, whatever comes of it."""
    return lambda *arguments, stdin="": kubectl.try_run("-n", namespace, *arguments, stdin=stdin)


def read(run: Run, *what: str) -> Any:
    return json.loads(run("get", *what, "-o", "json"))


def lines(text: str) -> list[list[str]]:
    """A table, cell by cell."""
    return [re.split(r" {2,}", line.strip()) for line in text.splitlines()]


def test_apply_creates_changes_prunes_fields_and_rests(run: Run) -> None:
    assert run("apply", "-f", "-", stdin=SETTINGS) == "configmap/settings created\n"
    assert run("apply", "-f", "-", stdin=SETTINGS) == "configmap/settings unchanged\n"
    changed = SETTINGS.replace('{colour: blue, size: "1"}', "{colour: red}")
    assert run("apply", "-f", "-", stdin=changed) == "configmap/settings configured\n"
    assert read(run, "configmap", "settings")["data"] == {"colour": "red"}


def test_apply_keeps_what_others_added(run: Run) -> None:
    run("apply", "-f", "-", stdin=WEB)
    run("scale", "deployment/web", "--replicas=3")
    run("set", "env", "deployment/web", "A=1")
    run("apply", "-f", "-", stdin=WEB.replace("web:1", "web:2").replace("  replicas: 2\n", ""))
    found = read(run, "deployment", "web")["spec"]
    (container,) = found["template"]["spec"]["containers"]
    assert (container["image"], container["env"]) == ("web:2", [{"name": "A", "value": "1"}])


def test_apply_by_the_server_names_conflicts(run: Run, attempt: Any) -> None:
    arguments = ["apply", "--server-side", "-f", "-"]
    assert run(*arguments, stdin=SETTINGS) == "configmap/settings serverside-applied\n"
    run("patch", "configmap", "settings", "-p", '{"data":{"colour":"red"}}')
    refused = attempt(*arguments, stdin=SETTINGS)
    assert refused.returncode == 1
    assert 'conflict with "kubectl-patch" using v1: .data.colour' in refused.stderr
    assert run(*arguments, "--force-conflicts", stdin=SETTINGS) == "configmap/settings serverside-applied\n"
    assert read(run, "configmap", "settings")["data"]["colour"] == "blue"


def test_apply_by_the_server_takes_over_from_apply_by_the_client(run: Run) -> None:
    run("apply", "-f", "-", stdin=SETTINGS)
    smaller = SETTINGS.replace(', size: "1"', "")
    run("apply", "--server-side", "-f", "-", stdin=smaller)
    assert read(run, "configmap", "settings")["data"] == {"colour": "blue"}


@pytest.mark.parametrize("mode", ["client", "server"])
def test_a_dry_run_leaves_nothing(run: Run, mode: str) -> None:
    told = run("apply", f"--dry-run={mode}", "-f", "-", stdin=SETTINGS)
    assert told == f"configmap/settings created ({'dry run' if mode == 'client' else 'server dry run'})\n"
    assert run("get", "configmap", "settings", "--ignore-not-found") == ""


@pytest.mark.parametrize("more", [[], ["--server-side"]])
def test_diff_shows_what_would_change(run: Run, attempt: Any, more: list[str]) -> None:
    run("apply", *more, "-f", "-", stdin=SETTINGS)
    assert attempt("diff", *more, "-f", "-", stdin=SETTINGS).returncode == 0
    shown = attempt("diff", *more, "-f", "-", stdin=SETTINGS.replace("blue", "red"))
    assert shown.returncode == 1
    changed = [line for line in shown.stdout.splitlines() if re.match(r"[-+] ", line)]
    assert "-  colour: blue" in changed
    assert "+  colour: red" in changed
    assert read(run, "configmap", "settings")["data"]["colour"] == "blue"


def test_get_prints_in_every_form(run: Run) -> None:
    run("apply", "-f", "-", stdin=SETTINGS)
    one = ["get", "configmap", "settings"]
    assert lines(run(*one))[0] == ["NAME", "DATA", "AGE"]
    assert lines(run(*one, "--no-headers"))[0][:2] == ["settings", "2"]
    assert lines(run(*one, "--show-labels"))[0] == ["NAME", "DATA", "AGE", "LABELS"]
    assert lines(run(*one, "-L", "app"))[0] == ["NAME", "DATA", "AGE", "APP"]
    assert run(*one, "-o", "name") == "configmap/settings\n"
    assert run(*one, "-o", "jsonpath={.data.colour}") == "blue"
    assert run(*one, "-o", "go-template={{.data.size}}") == "1"
    assert lines(run(*one, "-o", "custom-columns=N:.metadata.name,C:.data.colour"))[1] == ["settings", "blue"]
    assert "\nkind: ConfigMap\n" in run(*one, "-o", "yaml")
    assert "managedFields" not in run(*one, "-o", "yaml")
    assert "managedFields" in run(*one, "-o", "yaml", "--show-managed-fields")
    assert read(run, "configmap", "settings")["kind"] == "ConfigMap"


def test_get_prints_several_kinds_and_wide_columns(run: Run) -> None:
    run("apply", "-f", "-", stdin=SETTINGS + "---\n" + WEB)
    assert set(run("get", "cm,deploy", "-l", "app=web", "-o", "name").split()) == {
        "configmap/settings",
        "deployment.apps/web",
    }
    wide = lines(run("get", "deployments", "-o", "wide"))
    assert wide[0] == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
    assert wide[1][5:] == ["web", "web:1", "app=web"]
    assert "deployment.apps/web" in run("get", "all", "-o", "name")


def test_get_of_what_is_not_there_says_so(attempt: Any) -> None:
    found = attempt("get", "configmap", "missing")
    assert (found.returncode, found.stderr) == (
        1,
        'Error from server (NotFound): configmaps "missing" not found\n',
    )
    found = attempt("get", "gadgets")
    assert (found.returncode, found.stderr) == (1, 'error: the server doesn\'t have a resource type "gadgets"\n')


def test_get_watches(run: Run) -> None:
    run("apply", "-f", "-", stdin=SETTINGS)
    told = run("get", "configmap", "settings", "--watch", "--request-timeout=2s", "-o", "name")
    assert told.splitlines()[0] == "configmap/settings"


def test_describe_tells_of_an_object(run: Run) -> None:
    run("apply", "-f", "-", stdin=SETTINGS + "---\n" + WEB)
    assert "colour:\n----\nblue" in run("describe", "configmap", "settings")
    assert "RollingUpdateStrategy:" in run("describe", "deployment", "web")


def test_explain_knows_fields(run: Run) -> None:
    told = run("explain", "deployment.spec.template.spec.containers.ports")
    assert "FIELD: ports <[]ContainerPort>" in told
    assert "containerPort\t<integer> -required-" in told
    assert "hostPort" in run("explain", "pods.spec", "--recursive")


def test_explain_knows_custom_kinds(server: Server, run: Run) -> None:
    with defined(server.client) as custom:
        wait_published(server.client, custom)
        told = run("explain", "widgets.spec", "--api-version", custom.api_version)
        assert "size\t<integer> -required-" in told


@pytest.mark.parametrize("kind", ["configmap/settings", "deployment.apps/web"])
def test_edit_sends_what_the_editor_wrote(kubectl: Kubectl, run: Run, namespace: str, kind: str) -> None:
    run("apply", "-f", "-", stdin=SETTINGS + "---\n" + WEB)
    editor = "sed -i -e 's/colour: blue/colour: red/' -e 's/image: web:1/image: web:2/'"
    done = kubectl.with_environment(KUBE_EDITOR=editor)("-n", namespace, "edit", kind)
    assert done == f"{kind} edited\n"
    text = run("get", kind, "-o", "yaml")
    assert "colour: red" in text or "image: web:2" in text


def test_delete_waits_until_it_is_gone(run: Run, client: Client, namespace: str) -> None:
    run("apply", "-f", "-", stdin=WEB)
    assert run("delete", "deployment", "web") == f'deployment.apps "web" deleted from {namespace} namespace\n'
    assert client.get(path("deployments", namespace, "web")).status == 404


def test_delete_in_the_foreground_waits_for_dependents(run: Run, client: Client, namespace: str) -> None:
    run("apply", "-f", "-", stdin=WEB)
    run("rollout", "status", "deployment/web", "--timeout=90s")
    run("delete", "deployment", "web", "--cascade=foreground")
    assert client.get(path("replicasets", namespace)).body["items"] == []


def test_delete_by_label_and_with_orphans(run: Run) -> None:
    run("apply", "-f", "-", stdin=SETTINGS + "---\n" + WEB)
    run("rollout", "status", "deployment/web", "--timeout=90s")
    run("delete", "configmap,deployment", "-l", "app=web", "--cascade=orphan")
    assert run("get", "replicasets", "-o", "name").startswith("replicaset.apps/web-")
    assert run("get", "configmap", "settings", "--ignore-not-found") == ""
    run("delete", "replicasets,pods", "--all", "--wait=false")


def test_wait_sees_conditions_fields_and_the_end(run: Run) -> None:
    run("apply", "-f", "-", stdin=WEB)
    told = run("wait", "--for=condition=Available", "deployment/web", "--timeout=90s")
    assert told == "deployment.apps/web condition met\n"
    run("wait", "--for=jsonpath={.status.readyReplicas}=2", "deployment/web", "--timeout=90s")
    run("delete", "deployment", "web", "--wait=false")
    run("wait", "--for=delete", "deployment/web", "--timeout=90s")


def test_rollout_tells_restarts_and_undoes(run: Run) -> None:
    run("apply", "-f", "-", stdin=WEB)
    assert "successfully rolled out" in run("rollout", "status", "deployment/web", "--timeout=90s")
    run("set", "image", "deployment/web", "web=web:2")
    assert "successfully rolled out" in run("rollout", "status", "deployment/web", "--timeout=90s")
    assert [row[0] for row in lines(run("rollout", "history", "deployment/web"))[2:4]] == ["1", "2"]
    assert run("rollout", "undo", "deployment/web") == "deployment.apps/web rolled back\n"
    run("rollout", "status", "deployment/web", "--timeout=90s")
    assert read(run, "deployment", "web")["spec"]["template"]["spec"]["containers"][0]["image"] == "web:1"
    assert run("rollout", "restart", "deployment/web") == "deployment.apps/web restarted\n"


def test_label_and_annotate_and_patch(run: Run) -> None:
    run("apply", "-f", "-", stdin=SETTINGS)
    assert run("label", "configmap", "settings", "tier=front") == "configmap/settings labeled\n"
    assert run("annotate", "configmap", "settings", "note=here") == "configmap/settings annotated\n"
    for kind, patch in (
        ("strategic", '{"data":{"a":"1"}}'),
        ("merge", '{"data":{"b":"2"}}'),
        ("json", '[{"op":"remove","path":"/data/size"}]'),
    ):
        assert run("patch", "configmap", "settings", f"--type={kind}", "-p", patch) == "configmap/settings patched\n"
    found = read(run, "configmap", "settings")
    assert found["data"] == {"colour": "blue", "a": "1", "b": "2"}
    assert found["metadata"]["labels"] == {"app": "web", "tier": "front"}


def test_create_and_replace(run: Run, attempt: Any) -> None:
    assert run("create", "-f", "-", stdin=SETTINGS) == "configmap/settings created\n"
    again = attempt("create", "-f", "-", stdin=SETTINGS)
    assert (
        again.stderr
        == 'Error from server (AlreadyExists): error when creating "STDIN": configmaps "settings" already exists\n'
    )
    assert run("replace", "-f", "-", stdin=SETTINGS.replace("blue", "red")) == "configmap/settings replaced\n"
    run("create", "secret", "generic", "key", "--from-literal=a=1")
    assert read(run, "secret", "key")["data"] == {"a": "MQ=="}
    run("create", "serviceaccount", "robot")
    assert run("create", "token", "robot").strip()


def test_unknown_fields_are_refused(attempt: Any) -> None:
    found = attempt("apply", "-f", "-", stdin=SETTINGS.replace("\ndata:", "\ndta:"))
    assert found.returncode == 1
    assert 'strict decoding error: unknown field "dta"' in found.stderr


def test_api_resources_and_versions_list_what_there_is(kubectl: Kubectl) -> None:
    rows = {row[0]: row[1:] for row in lines(kubectl("api-resources"))}
    assert rows["deployments"] == ["deploy", "apps/v1", "true", "Deployment"]
    assert rows["namespaces"] == ["ns", "v1", "false", "Namespace"]
    assert "deployments.apps" in kubectl("api-resources", "--verbs=list,watch", "--namespaced", "-o", "name")
    assert {"v1", "apps/v1", "batch/v1"} <= set(kubectl("api-versions").split())


def test_an_administrator_may_do_everything(run: Run, kubectl: Kubectl) -> None:
    assert run("auth", "can-i", "create", "deployments.apps") == "yes\n"
    assert kubectl("auth", "can-i", "*", "*", "--all-namespaces") == "yes\n"
    assert "[*]" in run("auth", "can-i", "--list")


def test_a_custom_kind_is_used_like_any_other(server: Server, run: Run) -> None:
    with defined(server.client) as custom:
        wait_published(server.client, custom)
        manifest = json.dumps(custom.manifest(colour="blue"))
        resource = f"widgets.{custom.group}"
        assert run("apply", "-f", "-", stdin=manifest) == f"widget.{custom.group}/one created\n"
        assert run("apply", "-f", "-", stdin=manifest) == f"widget.{custom.group}/one unchanged\n"
        changed = json.dumps(custom.manifest(colour="red", size=2))
        assert run("apply", "-f", "-", stdin=changed) == f"widget.{custom.group}/one configured\n"
        assert lines(run("get", resource))[0] == ["NAME", "SIZE", "AGE"]
        assert lines(run("get", resource, "-o", "wide"))[0] == ["NAME", "SIZE", "COLOUR", "AGE"]
        assert run("get", resource, "one", "-o", "jsonpath={.spec.colour}") == "red"
        run("scale", resource, "one", "--replicas=3")
        assert run("get", resource, "one", "-o", "jsonpath={.spec.size}") == "3"
        run("delete", resource, "one")
