"""The engine: events in, decisions out, no fakes of anything that executes."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.engine import Engine, Evaluate, Propose, Record, Stop
from aide.node import Action, Candidate, Node, Outcome, Proposal, Score, Status
from aide.policies.greedy import Greedy
from aide.tree import Tree
from tests.trees import node as make_node
from tests.trees import proposed


class Mute:
    """A policy with nothing to propose, as a badly written one may have."""

    def ask(self, tree: Tree, pending: Sequence[Action], n: int) -> list[Action]:
        return []

    def tell(self, node: Node) -> None:
        pass


def finish(proposal: Proposal, value: float) -> Node:
    outcome = Outcome("ok", Score(value, 0.1, 10))
    return Node(proposal.id, proposal.action, proposal.candidate, outcome)


def test_the_first_decision_is_a_draft() -> None:
    engine = Engine(Tree(True), Greedy(), steps=3)
    assert engine.start() == [Propose(1, Action("draft"))]


def test_a_candidate_goes_from_proposal_to_run_to_tree() -> None:
    engine = Engine(Tree(True), Greedy(), steps=1)
    engine.start()
    proposal = Proposal(1, Action("draft"), Candidate("plan", "code"))
    assert engine.proposed(proposal) == [Evaluate(proposal)]
    node = finish(proposal, 0.5)
    assert engine.finished(node) == [Stop("all 1 steps are done")]
    assert engine.tree.best is node


@pytest.mark.parametrize("status", ["duplicate", "rejected"])
def test_what_cannot_run_is_recorded_without_a_run(status: Status) -> None:
    engine = Engine(Tree(True), Greedy(), steps=2)
    engine.start()
    candidate = Candidate("plan", "", problem="why", status=status)
    [decision] = engine.proposed(Proposal(1, Action("draft"), candidate))
    assert isinstance(decision, Record)
    assert (decision.node.status, decision.node.outcome.reason) == (status, "why")


def test_a_stuck_policy_ends_the_run_with_a_reason() -> None:
    engine = Engine(Tree(True), Mute(), steps=5)
    assert engine.start() == [Stop("the policy has nothing to propose")]


def test_what_an_earlier_session_left_is_evaluated_first_and_not_proposed_again() -> None:
    left = proposed(make_node(1))
    engine = Engine(Tree(True), Greedy(), steps=2, pending=[left])
    assert engine.start() == [Evaluate(left)]
    assert engine.finished(finish(left, 0.1)) == [Propose(2, Action("draft"))]


@pytest.mark.parametrize("what", ["never asked", "twice"])
def test_an_event_that_answers_no_decision_is_an_error(what: str) -> None:
    engine = Engine(Tree(True), Greedy(), steps=5)
    engine.start()
    proposal = Proposal(1, Action("draft"), Candidate("plan", "code"))
    engine.proposed(proposal)
    node = finish(proposal, 0.5)
    if what == "twice":
        engine.finished(node)
    else:
        node = make_node(9, value=1)
    with pytest.raises(ValueError, match="was not asked for"):
        engine.finished(node)


def test_after_a_stop_nothing_new_is_started() -> None:
    engine = Engine(Tree(True), Greedy(), steps=5, width=2)
    first, second = engine.start()
    assert isinstance(first, Propose)
    assert isinstance(second, Propose)
    engine.stop("enough")
    one, two = (Proposal(n, Action("draft"), Candidate("p", "c")) for n in (1, 2))
    assert engine.proposed(one) == [Evaluate(one)]
    assert engine.finished(finish(one, 1)) == []
    engine.proposed(two)
    assert engine.finished(finish(two, 1)) == [Stop("enough")]


@given(steps=st.integers(1, 40), width=st.integers(1, 6), seed=st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_whatever_the_order_of_events_all_steps_are_done_once(
    steps: int, width: int, seed: int
) -> None:
    rng = random.Random(seed)
    engine = Engine(Tree(False), Greedy(seed=seed), steps=steps, width=width)
    under_way: list[Propose | Evaluate | Record] = []
    proposed: list[int] = []
    stops: list[Stop] = []
    decisions = engine.start()
    while True:
        for decision in decisions:
            if isinstance(decision, Stop):
                stops.append(decision)
            else:
                under_way.append(decision)
        if not under_way:
            break
        assert not stops, "stopped with work under way"
        assert len(under_way) <= width
        decision = under_way.pop(rng.randrange(len(under_way)))
        if isinstance(decision, Propose):
            proposed.append(decision.id)
            kinds: list[Status] = ["ok", "ok", "ok", "duplicate"]
            candidate = Candidate("p", "c", status=rng.choice(kinds))
            decisions = engine.proposed(Proposal(decision.id, decision.action, candidate))
        elif isinstance(decision, Evaluate):
            p = decision.proposal
            works = rng.random() < 0.6
            outcome = Outcome("ok", Score(rng.random(), 0, 1)) if works else Outcome("error")
            decisions = engine.finished(Node(p.id, p.action, p.candidate, outcome))
        else:
            decisions = engine.finished(decision.node)
    assert sorted(proposed) == list(range(1, steps + 1))
    assert sorted(node.id for node in engine.tree) == list(range(1, steps + 1))
    assert [stop.reason for stop in stops] == [f"all {steps} steps are done"]
