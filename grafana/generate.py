"""Writes what is generated for monitoring: the dashboards, and the PrometheusRule around the alerting rules.

`make dashboards` runs it; a test holds the files fresh.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from grafana import daemon, overview, sync

HERE: Final = Path(__file__).parent
MONITORING: Final = HERE.parent / "deploy" / "monitoring"

RULE_HEAD: Final = """\
# rules.yaml for the Prometheus Operator. Generated from it: `make dashboards`.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: syncd
spec:
"""


def files() -> dict[Path, str]:
    """Return the files to write, and what is in them."""
    boards = (overview.build(), sync.build(), daemon.build())
    written = {HERE / "dashboards" / f"{board.uid}.json": dump(board) for board in boards}
    return {**written, MONITORING / "prometheus-rule.yaml": prometheus_rule((MONITORING / "rules.yaml").read_text())}


def dump(board: object) -> str:
    """Return a dashboard as text in which a change is a change of few lines."""
    return json.dumps(board, cls=JSONEncoder, indent=1) + "\n"


def prometheus_rule(rules: str) -> str:
    """Return the Operator's object around the content of a rule file, whose head comment stays behind."""
    return RULE_HEAD + textwrap.indent(rules[rules.index("groups:") :], "  ")


def main() -> None:
    """Write them all."""
    for path, text in files().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
