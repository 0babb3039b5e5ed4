"""The search as a state machine: events in, decisions out. It executes nothing itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aide.interfaces import Policy
from aide.node import Action, Node, Outcome, Proposal
from aide.tree import Tree


@dataclass(frozen=True, slots=True)
class Propose:
    """Have an operator write the solution with this id."""

    id: int
    action: Action


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Run a proposal in a sandbox and grade it."""

    proposal: Proposal


@dataclass(frozen=True, slots=True)
class Record:
    """Write down a node that is finished without a run: a copy, or no code at all."""

    node: Node


@dataclass(frozen=True, slots=True)
class Stop:
    """Nothing more is to be started and nothing is under way; the reason, for people."""

    reason: str


Decision = Propose | Evaluate | Record | Stop


class Engine:
    """Decides what happens next; each decision but the last is answered by exactly one event.

    Args:
        tree: the finished nodes; the engine adds to it.
        policy: chooses the nodes to work on.
        steps: how many nodes there may be in all.
        width: how many proposals may be under way at once, being written, waiting or run.
        pending: proposals of an earlier session that were not finished.
    """

    def __init__(
        self,
        tree: Tree,
        policy: Policy,
        *,
        steps: int,
        width: int = 1,
        pending: Iterable[Proposal] = (),
    ) -> None:
        self.tree, self._policy = tree, policy
        self._steps, self._width = steps, width
        self._left_over = list(pending)
        self._under_way: dict[int, Action] = {p.id: p.action for p in self._left_over}
        # Not by how many there are: a crash may have lost ids that were given out.
        self._next_id = max([*(node.id for node in tree), *self._under_way], default=0) + 1
        self._stopping = ""

    def start(self) -> list[Decision]:
        """The first decisions: what an earlier session left, then new work."""
        decisions: list[Decision] = [self._after_proposal(p) for p in self._left_over]
        self._left_over = []
        return decisions + self._more()

    def proposed(self, proposal: Proposal) -> list[Decision]:
        """An operator has written a candidate."""
        self._check(proposal.id)
        return [self._after_proposal(proposal)]

    def finished(self, node: Node, code_hash: str = "") -> list[Decision]:
        """A node is finished and written down."""
        self._check(node.id)
        del self._under_way[node.id]
        self.tree.add(node, code_hash)
        self._policy.tell(node)
        return self._more()

    def stop(self, reason: str) -> None:
        """A limit is reached: what is under way goes on, nothing more is started."""
        self._stopping = self._stopping or reason

    @property
    def stopping(self) -> bool:
        """True if nothing more is started: the run is to stop, or has all its steps."""
        return bool(self._stopping) or len(self.tree) >= self._steps

    def dropped(self, node_id: int) -> list[Decision]:
        """A decision will not be carried out, since the run is stopping; a resume may do it."""
        if not self.stopping:
            raise ValueError(f"proposal {node_id} cannot be dropped from a run that goes on")
        self._check(node_id)
        del self._under_way[node_id]
        return self._more()

    def pending_beside(self, node_id: int) -> list[Action]:
        """What else is under way while one node is being written."""
        return [action for other, action in self._under_way.items() if other != node_id]

    def _check(self, node_id: int) -> None:
        if node_id not in self._under_way:
            raise ValueError(f"node {node_id} was not asked for, or is finished already")

    def _after_proposal(self, proposal: Proposal) -> Decision:
        candidate = proposal.candidate
        if candidate.status == "ok":
            return Evaluate(proposal)
        outcome = Outcome(candidate.status, reason=candidate.problem)
        return Record(Node(proposal.id, proposal.action, candidate, outcome))

    def _more(self) -> list[Decision]:
        decisions: list[Decision] = []
        wanted = self._width - len(self._under_way)
        wanted = min(wanted, self._steps - len(self.tree) - len(self._under_way))
        if wanted > 0 and not self._stopping:
            pending = list(self._under_way.values())
            for action in self._policy.ask(self.tree, pending, wanted)[:wanted]:
                decisions.append(Propose(self._next_id, action))
                self._under_way[self._next_id] = action
                self._next_id += 1
        if not self._under_way:
            decisions.append(Stop(self._reason()))
        return decisions

    def _reason(self) -> str:
        if self._stopping:
            return self._stopping
        if len(self.tree) >= self._steps:
            return f"all {self._steps} steps are done"
        return "the policy has nothing to propose"
