"""Executes the engine's decisions: asks operators, has candidates evaluated, keeps the books.

Every durable write is ordered: the artifacts, the git commit, then the journal line that makes
the node finished. Whatever is cut short is repeated on resume, and nothing that the journal says
is missing elsewhere.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, replace
from pathlib import Path

from aide.engine import Decision, Engine, Evaluate, Propose, Record, Stop
from aide.errors import BudgetExceeded, ModelError, SandboxError
from aide.evaluate import SUBMISSION, Evaluator
from aide.folder import storing
from aide.node import Action, Node, Proposal
from aide.parts import Parts
from aide.propose import Proposer
from aide.replay import State, finished_event, proposed_event
from aide.tree import Tree

INTERRUPTED = "interrupted"


class Loop:
    """Runs a search to its end.

    Args:
        parts: everything that it works with.
        engine: decides what happens.
        state: what the journal says; the engine's tree is its own.
    """

    def __init__(self, parts: Parts, engine: Engine, state: State) -> None:
        self._parts, self._engine = parts, engine
        self._hashes = dict(state.hashes)
        self._proposer = Proposer(parts, engine.tree, state.advice)
        self.evaluator = Evaluator(parts.sandbox, parts.task, self._retried)

    @property
    def tree(self) -> Tree:
        return self._engine.tree

    def interrupt(self) -> None:
        """Stop soon, from any thread: what runs is ended and left for a resume."""
        self.evaluator.cancel()
        self._parts.cancel()

    def run(self) -> str:
        """Work until a limit, an interruption or the policy ends it; returns the reason.

        Raises:
            ModelError, SandboxError, StorageError, TaskError: the run cannot go on now; all that
                was finished is kept, and it can be resumed.
        """
        decisions: deque[Decision] = deque(self._engine.start())
        while True:
            decision = decisions.popleft()
            if isinstance(decision, Stop):
                return decision.reason
            if self.evaluator.cancelled:
                return INTERRUPTED
            try:
                self._check_budget(decision)
                decisions.extend(self._execute(decision))
            except BudgetExceeded as error:
                return str(error)
            except (SandboxError, ModelError):
                if self.evaluator.cancelled:
                    return INTERRUPTED
                raise

    def _check_budget(self, decision: Decision) -> None:
        if not isinstance(decision, Record):
            self._parts.budget.check(len(self.tree))

    def _execute(self, decision: Decision) -> list[Decision]:
        match decision:
            case Propose(node_id, action):
                return self._propose(node_id, action)
            case Evaluate(proposal):
                return self._finish(self._evaluate(proposal))
            case Record(node):
                return self._finish(node)
            case Stop():
                return []

    def _propose(self, node_id: int, action: Action) -> list[Decision]:
        parts = self._parts
        self._tell("proposing", node=node_id, operator=action.operator, parents=action.parents)
        pending = self._engine.pending_beside(node_id)
        proposal = self._proposer.propose(node_id, action, pending)
        candidate = proposal.candidate
        code_hash = parts.code_hash(candidate.code) if candidate.status == "ok" else ""
        self._hashes[node_id] = code_hash
        parts.write(proposed_event(proposal, code_hash))
        return self._engine.proposed(proposal)

    def _evaluate(self, proposal: Proposal) -> Node:
        parts = self._parts
        action, candidate = proposal.action, proposal.candidate
        self._tell("running", node=proposal.id, operator=action.operator, parents=action.parents)
        limits = replace(parts.limits, seconds=parts.budget.run_limit(parts.limits.seconds))
        outcome = self.evaluator.evaluate(
            f"{proposal.id:04d}",
            candidate.code,
            parts.folder.node(proposal.id),
            limits,
            smoke=parts.settings.smoke,
        )
        parts.budget.saw(outcome.seconds or outcome.smoke_seconds)
        return Node(proposal.id, action, candidate, outcome)

    def _finish(self, node: Node) -> list[Decision]:
        parts = self._parts
        folder = parts.folder.node(node.id)
        with storing(str(folder)):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "output.txt").write_text(node.outcome.log, "utf-8", "replace")
        parts.history.commit(node)
        told = self._proposer.lesson(node)
        parts.write({**finished_event(node), "lesson": told})
        decisions = self._engine.finished(node, self._hashes.pop(node.id, ""))
        improved = self.tree.best is node
        if improved:
            self.keep_best()
        self._tell(
            "finished",
            node=node.id,
            operator=node.operator,
            parents=node.parents,
            status=node.status,
            reason=node.outcome.reason,
            score=node.score,
            plan=node.plan,
            lesson=told,
            improved=improved,
        )
        # Last: it may ask a model, and by then everything else about the node is done.
        self._proposer.learn(node)
        return decisions

    def keep_best(self) -> None:
        """Put the best node's program and submission into `best/`; no harm if they are there."""
        best = self.tree.best
        if best is None:
            return
        parts = self._parts
        predictions = parts.folder.node(best.id) / Path(SUBMISSION).name
        submission = parts.task.submission(predictions, "search")
        parts.folder.set_best(f"{best.id:04d}", best.code, submission)
        parts.history.set_best(best.id)

    def _retried(self, job: str, reason: str) -> None:
        self._tell("retrying", job=job, reason=reason)

    def _tell(self, kind: str, **fields: object) -> None:
        budget, ledger, best = self._parts.budget, self._parts.ledger, self.tree.best
        forecast = ledger.forecast(len(self.tree), budget.steps)
        self._parts.on_event(
            {
                "event": kind,
                **fields,
                "nodes": len(self.tree),
                "working": self.tree.working,
                "steps": budget.steps,
                "elapsed": budget.elapsed,
                "left": budget.forecast(len(self.tree)),
                "usage": asdict(ledger.total),
                "forecast": asdict(forecast) if forecast else None,
                "best": best.id if best else None,
                "best_score": best.score if best else None,
            }
        )
