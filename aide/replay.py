"""A run's state as the replay of its journal's events, and the events that carry it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from aide.node import Action, Candidate, Node, Outcome, Proposal, Score, Usage
from aide.tree import Tree

Event = dict[str, Any]


@dataclass
class State:
    """What a journal says.

    Attributes:
        start: the first event: configuration, task, sandbox.
        tree: the finished nodes.
        pending: proposed, not finished: to be run again.
        hashes: normalised code hash of each pending proposal.
        advice: what a model advised to do next, by the node that it is about.
        elapsed: seconds that the run was at work.
        final: the "final" event of the latest finish, or None.
        finals: how many nodes the final holdout has been used for.
        stop: the latest "stop" event, or None if the run ended without one.
    """

    start: Event
    tree: Tree
    pending: dict[int, Proposal] = field(default_factory=dict)
    hashes: dict[int, str] = field(default_factory=dict)
    advice: dict[int, str] = field(default_factory=dict)
    elapsed: float = 0.0
    final: Event | None = None
    finals: int = 0
    stop: Event | None = None


def proposed_event(proposal: Proposal, code_hash: str) -> Event:
    return {
        "event": "proposed",
        "node": proposal.id,
        "action": asdict(proposal.action),
        "candidate": asdict(proposal.candidate),
        "hash": code_hash,
    }


def finished_event(node: Node) -> Event:
    return {"event": "finished", "node": node.id, "outcome": _outcome_fields(node.outcome)}


def score_fields(score: Score | None) -> dict[str, Any] | None:
    """A score for JSON, which knows no NaN: an unknown standard error is null."""
    if score is None:
        return None
    return {
        "value": score.value,
        "se": None if math.isnan(score.se) else score.se,
        "rows": score.rows,
    }


def score_from(fields: Mapping[str, Any] | None) -> Score | None:
    if fields is None:
        return None
    se = math.nan if fields["se"] is None else fields["se"]
    return Score(fields["value"], se, fields["rows"])


def replay(events: Iterable[Event]) -> State:
    """The state after some events, of which the first is the run's start."""
    stream = iter(events)
    start = next(stream)
    state = State(start, Tree(maximize=start["task"]["maximize"]))
    for event in stream:
        apply(state, event)
    return state


def catch_up(state: State, events: Iterable[Event]) -> None:
    """Bring a state up to date with the whole journal, whose nodes its tree has, or most of them.

    As a `replay`, but no second tree has to be built.
    """
    state.pending.clear()
    state.hashes.clear()
    state.final, state.finals = None, 0
    for event in events:
        if event["event"] == "finished" and event["node"] in state.tree:
            del state.pending[event["node"]], state.hashes[event["node"]]
        elif event["event"] != "start":
            apply(state, event)


def apply(state: State, event: Event) -> None:
    """Take one more event into a state."""
    state.elapsed = max(state.elapsed, event.get("elapsed", 0.0))
    kind = event["event"]
    if kind == "proposed":
        proposal = _proposal(event)
        state.pending[proposal.id] = proposal
        state.hashes[proposal.id] = event["hash"]
        state.stop = None
    elif kind == "finished":
        proposal = state.pending.pop(event["node"])
        outcome = _outcome(event["outcome"])
        node = Node(proposal.id, proposal.action, proposal.candidate, outcome)
        state.tree.add(node, state.hashes.pop(node.id))
    elif kind == "final":
        if state.final is None or state.final["node"] != event["node"]:
            state.finals += 1
        state.final = event
    elif kind == "advice":
        state.advice[event["node"]] = event["text"]
    elif kind == "stop":
        state.stop = event


def _proposal(event: Event) -> Proposal:
    action, candidate = event["action"], event["candidate"]
    return Proposal(
        event["node"],
        Action(action["operator"], tuple(action["parents"])),
        Candidate(
            plan=candidate["plan"],
            code=candidate["code"],
            problem=candidate["problem"],
            status=candidate["status"],
            flags=tuple(candidate["flags"]),
            usage=Usage(**candidate["usage"]),
            # Journals from before these were kept have none.
            lines=candidate.get("lines", 0.0),
            changed=candidate.get("changed", 0.0),
        ),
    )


def _outcome_fields(outcome: Outcome) -> dict[str, Any]:
    return {**asdict(outcome), "score": score_fields(outcome.score)}


def _outcome(fields: Mapping[str, Any]) -> Outcome:
    return Outcome(
        **{**fields, "score": score_from(fields["score"]), "flags": tuple(fields["flags"])}
    )
