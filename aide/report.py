"""The account of a run for people: report.md, made from the journal alone."""

from __future__ import annotations

import math
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from aide.node import Score
from aide.replay import State, score_from
from aide.spent import Spent
from aide.values import Values, render


def format_score(score: Score | None) -> str:
    """A score with its standard error, to as many digits as that error is worth."""
    if score is None:
        return "-"
    if math.isnan(score.se) or score.se <= 0:
        return f"{score.value:.5g}"
    digits = min(8, max(0, 1 - math.floor(math.log10(score.se))))
    return f"{score.value:.{digits}f} ± {score.se:.{digits}f}"


def format_seconds(seconds: float | None) -> str:
    """A length of time as people say it: 42 s, 7 min, 2 h 05 min."""
    if seconds is None or math.isinf(seconds):
        return "-"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"


def format_usd(usd: float | None) -> str:
    """An amount of money, or that a price is unknown."""
    if usd is None:
        return "price unknown"
    return f"${usd:.2f}" if usd >= 1 or not usd else f"${usd:.4f}"


def one_line(text: str, length: int) -> str:
    """A text on one line, cut to a length."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def render_report(state: State, account: Spent) -> str:
    """The report of a run, as markdown."""
    environment = Environment(
        loader=PackageLoader("aide"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters.update(
        score=format_score, duration=format_seconds, oneline=one_line, cell=_cell, usd=format_usd
    )
    return environment.get_template("report.md.j2").render(_values(state, account))


def _values(state: State, account: Spent) -> dict[str, Any]:
    tree, best = state.tree, state.tree.best
    first = next((node for node in tree if node.works), None)
    counts: dict[str, int] = {}
    for node in tree:
        counts[node.status] = counts.get(node.status, 0) + 1
    return {
        "start": state.start,
        "nodes": list(tree),
        "counts": counts,
        "working": tree.working,
        "best": best,
        "first": first,
        "path": tree.lineage(best.id) if best else [],
        "final": state.final,
        "finals": state.finals,
        "final_score": score_from(state.final["final"]) if state.final else None,
        "pending": len(state.pending),
        "elapsed": state.elapsed,
        "sandbox_seconds": sum(n.outcome.seconds + n.outcome.smoke_seconds for n in tree),
        "account": account,
        "learned": _learned(state),
        "reason": state.stop["reason"] if state.stop else "it was cut off",
    }


def _learned(state: State) -> str:
    """What all attempts taught, in words."""
    values = Values(state.tree.maximize)
    for node in state.tree:
        values.add(node)
    return render(values.root(), metric=state.start["task"]["metric"])


def _cell(text: str) -> str:
    """A text for a table's cell, in which a bar would end it."""
    return text.replace("|", "\\|")
