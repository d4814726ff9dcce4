"""``syncd status``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click
import orjson
import urllib3
from rich.text import Text

from syncd.cli.fields import STYLES, change_lines
from syncd.cli.options import output_option
from syncd.cli.output import console, plain_table, print_json, printable
from syncd.model import ABSENT, FieldChange, SyncdError
from syncd.web.text import ago

if TYPE_CHECKING:
    from rich.console import Console

    from syncd.model import JSONObject

_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 30.0
_STATE_STYLES: Final = {"Synced": "green", "OutOfSync": "yellow", "Unknown": "dim"}
_SIGNS: Final = {"create": "+", "update": "~", "prune": "-", "keep": "!", "skip": "!"}


class DaemonUnreachableError(SyncdError):
    """There is no daemon at the address, or it does not answer as one."""

    reason = "DaemonUnreachable"


class StandbyError(SyncdError):
    """The replica that was asked does not lead, so it knows nothing of any Sync."""

    reason = "Standby"


@click.command("status")
@click.argument("names", nargs=-1, metavar="[NAMESPACE/NAME]...")
@click.option(
    "--address",
    envvar="SYNCD_ADDRESS",
    default="http://127.0.0.1:8080",
    show_default=True,
    metavar="URL",
    help="Where the daemon listens.",
)
@output_option()
def command(names: tuple[str, ...], address: str, output: str) -> None:
    """Show what a running daemon knows: all Syncs in a table, or all about the Syncs that are named."""
    root = address.rstrip("/") if "://" in address else f"http://{address.rstrip('/')}"
    if names:
        items = [_get(f"{root}/api/v1/syncs/{_full(name)}") for name in names]
    else:
        document = _get(f"{root}/api/v1/syncs")
        items = document["items"]
        if document.get("standby"):
            raise StandbyError(f"the replica at {root} stands by: {document['standby']}; ask the one that leads")
    if output == "json":
        print_json({"items": items})
        return
    screen = console()
    if names:
        for item in items:
            _show_one(screen, item)
    else:
        _show_all(screen, items)


def _full(name: str) -> str:
    """Add the default namespace to a bare name."""
    return name if "/" in name else f"syncd/{name}"


def _get(url: str) -> Any:
    timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS)
    try:
        with urllib3.PoolManager() as pool:
            response = pool.request("GET", url, timeout=timeout, retries=False, redirect=False)
            document = orjson.loads(response.data)
    except urllib3.exceptions.HTTPError as error:
        raise DaemonUnreachableError(f"no daemon answers at {url}: {_cause(error)}") from None
    except orjson.JSONDecodeError:
        raise DaemonUnreachableError(f"what answers at {url} is no syncd (HTTP status {response.status})") from None
    if response.status != 200:
        raise DaemonUnreachableError(f"the daemon says: {document.get('error') or response.status}")
    return document


def _cause(error: urllib3.exceptions.HTTPError) -> str:
    """Return the part of urllib3's message that is for people."""
    return str(error).rpartition(": ")[2] or type(error).__name__


def _show_all(screen: Console, items: list[JSONObject]) -> None:
    table = plain_table("Sync", "State", "Health", "Revision", "Drift", "Last success")
    for item in items:
        state = "Suspended" if item["suspended"] else item["state"]
        table.add_row(
            item["id"],
            Text(state, style=_STATE_STYLES.get(state, "dim")),
            item["health"] or "",
            _revision(item["applied"], digits=7),
            str(item["driftCount"]),
            _ago(item["lastSuccess"]),
        )
    screen.print(table)
    for item in items:
        _show_trouble(screen, item)


def _show_trouble(screen: Console, item: JSONObject) -> None:
    """Print what keeps a Sync from being well."""
    if item["error"]:
        since = f" (failing since {_ago(item['failingSince'])})" if item["failingSince"] else ""
        _line(screen, f"{item['id']}: {item['error']}{since}", "red")
        for problem in item["problems"]:
            if problem != item["error"]:
                _line(screen, f"  ! {problem}", "red")
    if item["message"]:
        _line(screen, f"{item['id']}: {item['message']}", STYLES["!"])
    if item["pruneHeld"]:
        _line(screen, f"{item['id']}: nothing is deleted: {item['pruneHeld']}", STYLES["!"])


def _show_one(screen: Console, item: JSONObject) -> None:
    source = item["source"]
    facts = {
        "State": f"{item['state']}{' (suspended)' if item['suspended'] else ''}, {item['health'] or 'health unknown'}",
        "Source": f"{source['url']}, {source['path']}, {source['ref']}",
        "Applied": _revision(item["applied"]) or "nothing yet",
        "Last attempt": f"{_ago(item['lastAttempt'])}: {item['reason']}",
        "Last success": _ago(item["lastSuccess"]),
        "Next attempt": _ago(item["nextAttempt"]),
        "Objects": ", ".join(f"{count} {word}" for word, count in item["counts"].items() if count) or "none",
    }
    _line(screen, item["id"], "bold")
    for name, value in facts.items():
        _line(screen, f"  {name + ':':<14} {value}")
    _show_trouble(screen, item)
    for record in item["drift"]:
        _show_drift(screen, record)
    for found in item["objects"]:
        if found["action"] != "unchanged" or found["error"] or found["health"] not in (None, "Healthy"):
            _show_object(screen, found)
    screen.print()


def _show_drift(screen: Console, record: JSONObject) -> None:
    by = f" by {record['manager']}" if record["manager"] else ""
    repaired = f", put right {_ago(record['correctedAt'])}" if record["correctedAt"] else ""
    _line(screen, f"  drift: {_name(record)} {record['reason']}{by} {_ago(record['since'])}{repaired}", STYLES["!"])
    _show_changes(screen, record)


def _show_object(screen: Console, found: JSONObject) -> None:
    sign = _SIGNS.get(found["action"], " ")
    health = f" [{found['health']}: {found['healthMessage']}]" if found["health"] not in (None, "Healthy") else ""
    text = found["error"] or found["message"]
    _line(screen, f"  {sign} {_name(found)}: {text}{health}", "red" if found["error"] else STYLES.get(sign, ""))
    _show_changes(screen, found)


def _show_changes(screen: Console, holder: JSONObject) -> None:
    for change in holder["changes"]:
        sides = (change.get("before", ABSENT), change.get("after", ABSENT))
        for line in change_lines(FieldChange(change["path"], *sides)):
            screen.print(Text("      ") + line, soft_wrap=True)


def _line(screen: Console, text: str, style: str = "") -> None:
    screen.print(Text(printable(text), style=style), soft_wrap=True)


def _name(item: JSONObject) -> str:
    kind = f"{item['kind']}.{item['group']}" if item["group"] else item["kind"]
    return f"{kind} {item['namespace']}/{item['name']}" if item["namespace"] else f"{kind} {item['name']}"


def _revision(value: JSONObject | None, digits: int = 12) -> str:
    return f"{value['ref']}@{value['commit'][:digits]}" if value else ""


def _ago(value: str | None) -> str:
    return ago(datetime.fromisoformat(value), datetime.now(UTC)) if value else "never"
