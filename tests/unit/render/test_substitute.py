from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from syncd.cluster.errors import SecretMissingError
from syncd.render import Renderer, Surroundings
from syncd.render.errors import InvalidInputsError, InvalidManifestError, UnresolvedVariableError
from syncd.source.errors import SecretNeedsClusterError
from tests.unit.render.test_plain import config_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.unit.render.conftest import Bench

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${app}
  labels: {tier: "${number}"}
spec:
  replicas: ${number}
  minReadySeconds: -${number}
  paused: ${flag:-false}
  template:
    metadata: {annotations: {"${app}.example.com/x": "${quote}${number}${quote}"}}
    spec:
      nodeSelector: {zone: "${number}"}
      containers:
      - name: web
        image: example.com/${app}:${number}
        args: ["--x=${number}", "$(POD_IP)", "$${HOME}", "${number} of ${number}", "${list}"]
        env: [{name: A, value: "${quote}${number}${quote}"}]
"""


class Shelf(dict[str, dict[str, bytes]]):
    """ConfigMaps or Secrets of the namespace ``team``."""

    def read(self, namespace: str, name: str) -> Mapping[str, bytes]:
        if namespace != "team" or name not in self:
            raise SecretMissingError(f"{namespace}/{name} does not exist")
        return self[name]


def rendered(bench: Bench, **substitute: Any) -> dict[str, Any]:
    manifests = bench.render(bench.sync(substitute=substitute))
    return {manifest.key.name: manifest.body for manifest in manifests}


def test_what_stands_without_quotes_is_read_again_and_texts_stay_texts(bench: Bench) -> None:
    bench.repo.commit({"a.yaml": DEPLOYMENT})
    values = {"app": "web", "number": "3", "quote": '"', "list": "[1, a]"}
    body = rendered(bench, values=values)["web"]
    pod = body["spec"]["template"]
    assert body["spec"]["replicas"] == 3
    assert body["spec"]["minReadySeconds"] == -3
    assert body["spec"]["paused"] is False
    assert body["metadata"]["labels"] == {"tier": "3"}
    assert pod["metadata"]["annotations"] == {"web.example.com/x": "3"}
    assert pod["spec"]["nodeSelector"] == {"zone": "3"}
    (container,) = pod["spec"]["containers"]
    assert container["image"] == "example.com/web:3"
    assert container["args"] == ["--x=3", "$(POD_IP)", "${HOME}", "3 of 3", [1, "a"]]
    assert container["env"] == [{"name": "A", "value": "3"}]


def test_a_value_cannot_change_the_shape_of_an_object(bench: Bench) -> None:
    bench.repo.commit({"a.yaml": config_map("a") + "data: {a: '${evil}', b: 'x: ${evil}'}\n"})
    bench.renderer = Renderer(surroundings=Surroundings(secrets=Shelf(s={"evil": b"x\nkind: Secret # {"})))
    body = rendered(bench, **{"from": [{"kind": "Secret", "name": "s"}]})["a"]
    assert body["kind"] == "ConfigMap"
    assert body["data"] == {"a": "xkind: Secret # {", "b": "x: xkind: Secret # {"}


def test_values_come_from_config_maps_and_secrets_and_the_last_one_wins(bench: Bench) -> None:
    bench.repo.commit({"a.yaml": config_map("a") + "data: {all: '${a}${b}${c}'}\n"})
    maps, secrets = Shelf(m={"a": b"1", "b": b"1", "c": b"1\n"}), Shelf(s={"b": b"2", "c": b"2"})
    bench.renderer = Renderer(surroundings=Surroundings(secrets, maps))
    sources = [
        {"kind": "ConfigMap", "name": "m"},
        {"kind": "Secret", "name": "s"},
        {"kind": "Secret", "name": "none", "optional": True},
    ]
    spec = bench.sync(substitute={"values": {"c": "3"}, "from": sources})
    first = bench.render(spec)
    assert first[0].body["data"] == {"all": "123"}
    assert bench.render(spec) is first
    secrets["s"] = {"b": b"9", "c": b"2"}
    assert bench.render(spec)[0].body["data"] == {"all": "193"}
    del secrets["s"]
    with pytest.raises(SecretMissingError, match="team/s"):
        bench.render(spec)


@pytest.mark.parametrize(
    ("data", "problem"),
    [({"a.b": b"x"}, r"'a\.b' in the ConfigMap team/m"), ({"a": b"\xff"}, "value of a in the ConfigMap team/m.*UTF-8")],
)
def test_a_source_that_holds_no_variables_is_named(bench: Bench, data: dict[str, bytes], problem: str) -> None:
    bench.repo.commit({"a.yaml": config_map("a")})
    bench.renderer = Renderer(surroundings=Surroundings(config_maps=Shelf(m=data)))
    with pytest.raises(UnresolvedVariableError, match=problem):
        rendered(bench, **{"from": [{"kind": "ConfigMap", "name": "m"}]})


def test_without_a_cluster_there_are_no_values_from_it(bench: Bench) -> None:
    bench.repo.commit({"a.yaml": config_map("a")})
    with pytest.raises(SecretNeedsClusterError, match=r"the ConfigMap team/m is in a cluster"):
        rendered(bench, **{"from": [{"kind": "ConfigMap", "name": "m"}]})


def test_a_missing_variable_is_named_with_file_document_and_line(bench: Bench) -> None:
    script = config_map("a") + "data:\n  ok: $${NOPE}\n  run: |\n    echo hello\n    echo ${NOPE}\n"
    bench.repo.commit({
        "a.yaml": f"# first\n---\n{config_map('x')}---\n{script}",
        "k/kustomization.yaml": "resources: [b.yaml]\n",
        "k/b.yaml": config_map("b") + "data: {x: '${OTHER}'}\n",
    })  # fmt: skip
    with pytest.raises(InvalidInputsError) as caught:
        rendered(bench)
    first, second = caught.value.problems
    assert first.startswith(
        f"{bench.repo.url} a.yaml, document 2, line 14: ConfigMap a: the variable NOPE has no value"
    )
    assert second.startswith(f"{bench.repo.url} k/b.yaml, line 4: ConfigMap b: the variable OTHER has no value")
    assert rendered(bench, missing="Empty")["b"]["data"] == {"x": ""}


def test_an_object_can_be_left_alone(bench: Bench) -> None:
    texts = [
        config_map("a", labels="{syncd.dev/substitute: disabled}"),
        config_map("b", annotations="{kustomize.toolkit.fluxcd.io/substitute: Disabled}"),
        config_map("c"),
    ]
    bench.repo.commit({"a.yaml": "---\n".join(f"{text}data: {{x: '${{v}}'}}\n" for text in texts)})
    found = rendered(bench, values={"v": "1"})
    assert [found[name]["data"]["x"] for name in "abc"] == ["${v}", "${v}", "1"]


def test_without_the_field_nothing_is_replaced(bench: Bench) -> None:
    bench.repo.commit({"a.yaml": config_map("a") + "data: {x: '${v} $$'}\n"})
    assert bench.render()[0].body["data"] == {"x": "${v} $$"}


def test_what_comes_out_has_to_be_an_object_still(bench: Bench) -> None:
    bench.repo.commit({"a.yaml": config_map("'${v}'")})
    with pytest.raises(Exception, match=r"the ConfigMap has no metadata\.name"):
        rendered(bench, values={"v": ""})


def test_names_that_become_the_same_are_an_error(bench: Bench) -> None:
    bench.repo.commit({"a.yaml": config_map("'${v}'"), "b.yaml": config_map("same")})
    with pytest.raises(Exception, match="is already described in"):
        rendered(bench, values={"v": "same"})


def test_a_name_that_no_variable_can_have_is_refused(bench: Bench) -> None:
    with pytest.raises(ValueError, match="'a-b' is not the name of a variable"):
        bench.sync(substitute={"values": {"a-b": "1"}})


def test_a_manifest_knows_what_in_it_came_out_of_a_secret(bench: Bench) -> None:
    data = "data: {url: 'x://${user}:${password}@${host}', short: '${pin:0:2}', pin: '${pin}', plain: '${host}'}\n"
    bench.repo.commit({"a.yaml": config_map("a") + data, "b.yaml": config_map("b")})
    secrets = Shelf(s={"user": b"admin", "password": b"hunter2", "pin": b"1234", "host": b"secret.example.com"})
    bench.renderer = Renderer(surroundings=Surroundings(secrets, Shelf(m={"user": b"admin"})))
    sources = [{"kind": "Secret", "name": "s"}, {"kind": "ConfigMap", "name": "m"}]
    spec = bench.sync(substitute={"values": {"host": "db"}, "from": sources})
    one, other = bench.render(spec)
    assert one.body["data"] == {"url": "x://admin:hunter2@db", "short": "12", "pin": "1234", "plain": "db"}
    assert one.hidden == {"hunter2", "x://admin:hunter2@db", "12", "1234"}
    assert other.hidden == {"hunter2", "1234"}
    assert "hunter2" not in repr(one)
    sources.pop()
    bench.renderer = Renderer(surroundings=Surroundings(secrets))
    assert "admin" in bench.render(bench.sync(substitute={"values": {"host": "db"}, "from": sources}))[1].hidden


def test_an_object_that_a_secret_spoils_is_an_error_without_the_secret(bench: Bench) -> None:
    bench.repo.commit({"a.yaml": config_map("a").replace("apiVersion: v1", "apiVersion: ${version}")})
    bench.renderer = Renderer(surroundings=Surroundings(secrets=Shelf(s={"version": b"hunter2/hunter2/x"})))
    with pytest.raises(InvalidManifestError, match=r"apiVersion '\*\*\*' is not like v1"):
        rendered(bench, **{"from": [{"kind": "Secret", "name": "s"}]})
