"""What a person at a terminal sees while a search runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from aide.report import format_score, format_seconds, one_line


class TerminalProgress:
    """Prints a line a finished node, above one that says what is running now.

    Args:
        console: where to; quiet if it is no terminal.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=True,
            refresh_per_second=4,
        )
        self._task: Any = None
        self._doing: dict[int, str] = {}

    def __enter__(self) -> TerminalProgress:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        # One that was not started prints an empty line when it is stopped.
        if self._console.is_terminal:
            self._bar.stop()

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Take an event of the run."""
        if not self._console.is_terminal:
            return
        kind = event["event"]
        self._follow(event)
        if kind in ("start", "resume"):
            self._print(f"run {event['run']}")
            self._print(f"sandbox: {event['sandbox']}")
            return
        if kind == "finished":
            self._print(_finished_line(event))
        elif kind == "retrying":
            self._print(f"  the sandbox failed, again: {event['reason']}")
        elif kind == "waiting":
            self._print(_waiting_line(event))
        self._show(event)

    def _follow(self, event: Mapping[str, Any]) -> None:
        """Keep count of the nodes that are being written, or run."""
        if event["event"] in ("proposing", "running"):
            self._doing[event["node"]] = event["event"]
        elif event["event"] == "finished":
            self._doing.pop(event["node"], None)
        elif event["event"] == "scoring":
            self._doing.clear()

    def _at_once(self) -> str:
        """How many nodes are being run and written, or "" if it is one at most."""
        doing = list(self._doing.values())
        if len(doing) < 2:
            return ""
        return f"{doing.count('running')} running, {doing.count('proposing')} written"

    def _print(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def _show(self, event: Mapping[str, Any]) -> None:
        doing = self._at_once() or _doing(event)
        if self._task is None:
            self._task = self._bar.add_task(doing, total=event.get("steps"), note="")
        if "steps" not in event:
            self._bar.update(self._task, description=doing)
            return
        best = event["best_score"]
        note = f"best {format_score(best)} (node {event['best']})" if best else "nothing works yet"
        if event["left"] is not None:
            note += f", about {format_seconds(event['left'])} left"
        note += _cost(event)
        self._bar.update(
            self._task,
            description=doing,
            completed=event["nodes"],
            total=event["steps"],
            note=note,
        )


def _doing(event: Mapping[str, Any]) -> str:
    match event["event"]:
        case "proposing":
            return f"node {event['node']}: writing ({event['operator']})"
        case "running" | "retrying":
            return f"node {event.get('node', event.get('job'))}: running"
        case "waiting":
            return "waiting"
        case "scoring":
            return "final holdout"
        case "refitting":
            return f"node {event['node']}: refitting on all rows"
        case _:
            return "choosing"


def _waiting_line(event: Mapping[str, Any]) -> str:
    wait = f"; waiting {format_seconds(event['seconds'])}" if event["seconds"] else ""
    return f"  {one_line(event['reason'], 160)}{wait}"


def _cost(event: Mapping[str, Any]) -> str:
    """What the models have used, and by this pace will have used at the end; "" if nothing."""
    used, ahead = event["usage"], event["forecast"]
    tokens = used["tokens_in"] + used["tokens_out"]
    if used["usd"]:
        note = f", ${used['usd']:.2f}"
        return note + (f" of about ${ahead['usd']:.2f}" if ahead and ahead["usd"] else "")
    if used["usd"] is None:
        total = ahead and ahead["tokens_in"] + ahead["tokens_out"]
        return f", {tokens:,} tokens" + (f" of about {total:,}" if total else "")
    return ""


def _finished_line(event: Mapping[str, Any]) -> str:
    parents = ",".join(map(str, event["parents"]))
    origin = f"{event['operator']} of {parents}" if parents else event["operator"]
    if event["score"]:
        result = format_score(event["score"]) + (" *" if event["improved"] else "")
    else:
        result = f"{event['status']}: {one_line(event['reason'], 60)}"
    return f"{event['node']:>4}  {origin:<14}  {result:<22}  {one_line(event['plan'], 60)}"
