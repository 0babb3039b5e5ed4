"""Executes the engine's decisions: asks operators, has candidates evaluated, keeps the books.

Models are asked and programs run in threads; the tree, the journal, git and `best/` belong to the
search's own thread. Every durable write is ordered: the artifacts, the git commit, then the
journal line that makes the node finished. Whatever is cut short is repeated on resume, and nothing
that the journal says is missing elsewhere.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

from aide.crew import Crew
from aide.engine import Decision, Engine, Evaluate, Propose, Record, Stop
from aide.errors import AideError, BudgetExceeded, ModelError, SandboxError
from aide.evaluate import Evaluator
from aide.keeper import Keeper
from aide.node import Action, Node, Outcome, Proposal, Usage
from aide.parts import Parts
from aide.propose import Proposer
from aide.replay import State, proposed_event
from aide.room import Room
from aide.runner import SUBMISSION, Runner
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
        self._room = Room(parts.folder.path, parts.settings.parallel)
        self.keeper = Keeper(parts, engine.tree)
        self.runner = Runner(
            parts.sandbox,
            parts.task,
            lambda job, reason: self.keeper.tell("retrying", job=job, reason=reason),
            clock=parts.clock,
            outage_seconds=parts.settings.outage_seconds,
            on_wait=self._waiting,
        )
        self._evaluator = Evaluator(self.runner, parts.task)
        self._ready: deque[Decision] = deque()
        self._advising = 0
        self._interrupted = threading.Event()
        self._may_run = True
        self._failure: AideError | None = None
        self._reason = ""

    @property
    def tree(self) -> Tree:
        return self._engine.tree

    def interrupt(self) -> None:
        """Stop soon, from any thread: what runs is ended and left for a resume."""
        self._interrupted.set()
        self.runner.cancel()
        self._parts.cancel()

    def run(self) -> str:
        """Work until a limit, an interruption or the policy ends it; returns the reason.

        Raises:
            ModelError, SandboxError, StorageError, TaskError: the run cannot go on now; all that
                was finished is kept, and it can be resumed.
        """
        settings = self._parts.settings
        self._ready.extend(self._engine.start())
        if not isinstance(self._ready[0], Stop):
            self._evaluator.prepare(self._parts.limits, settings.parallel, smoke=settings.smoke)
        with Crew(settings.parallel, settings.parallel + settings.ahead) as crew:
            try:
                self._work(crew)
            except BaseException:  # raised again: the threads must not be waited for long
                self.interrupt()
                raise
        if self._failure is not None and not self._interrupted.is_set():
            raise self._failure
        return self._reason

    def _work(self, crew: Crew) -> None:
        while not self._reason:
            self._start_ready(crew)
            if not self._reason:
                crew.take()

    def _start_ready(self, crew: Crew) -> None:
        """Start what can be started now; the rest waits for a free sandbox, or for advice."""
        if self._interrupted.is_set():
            self._end(INTERRUPTED)
        waiting: deque[Decision] = deque()
        while self._ready:
            decision = self._ready.popleft()
            match decision:
                case Stop(reason):
                    self._reason = reason
                case Record(node):
                    self._finish(node, crew)
                case Propose(node_id, action):
                    if self._advising:
                        waiting.append(decision)
                    elif self._goes_on() and not self._engine.stopping:
                        self._propose(node_id, action, crew)
                    else:
                        self._drop(node_id)
                case Evaluate(proposal):
                    if not crew.may_run:
                        waiting.append(decision)
                    elif self._goes_on():
                        self._evaluate(proposal, crew)
                    else:
                        self._drop(proposal.id)
        self._ready = waiting

    def _goes_on(self) -> bool:
        """Whether another program or proposal may be started; ends the run where not."""
        if self._may_run:
            try:
                self._parts.budget.check(len(self.tree))
            except BudgetExceeded as error:
                self._end(str(error))
            if problem := self._room.problem():
                self._end(problem)
        return self._may_run

    def _end(self, reason: str, *, may_run: bool = False) -> None:
        """Have nothing more written; and nothing more run, unless that is told."""
        self._engine.stop(INTERRUPTED if self._interrupted.is_set() else reason)
        self._may_run = self._may_run and may_run

    def _drop(self, node_id: int) -> None:
        self._ready.extend(self._engine.dropped(node_id))

    def _fail(self, node_id: int, error: AideError, *, may_run: bool) -> None:
        if not self._interrupted.is_set():
            self._failure = self._failure or error
        self._end(str(error), may_run=may_run)
        self._drop(node_id)

    def _propose(self, node_id: int, action: Action, crew: Crew) -> None:
        self.keeper.tell(
            "proposing", node=node_id, operator=action.operator, parents=action.parents
        )
        seen = self._proposer.context(node_id, action, self._engine.pending_beside(node_id))
        crew.write(
            lambda: self._proposer.write(node_id, action, seen),
            lambda future: self._proposed(node_id, future),
        )

    def _proposed(self, node_id: int, future: Future[Proposal]) -> None:
        try:
            proposal = self._not_twice(future.result())
        except BudgetExceeded as error:
            self._end(str(error), may_run=True)
            self._drop(node_id)
            return
        except ModelError as error:
            # What is written already can be run without the model.
            self._fail(node_id, error, may_run=True)
            return
        candidate = proposal.candidate
        code_hash = self._parts.code_hash(candidate.code) if candidate.status == "ok" else ""
        self._hashes[node_id] = code_hash
        self._parts.write(proposed_event(proposal, code_hash))
        self._ready.extend(self._engine.proposed(proposal))

    def _not_twice(self, proposal: Proposal) -> Proposal:
        """The proposal, as a duplicate if the same program was written meanwhile."""
        candidate = proposal.candidate
        if candidate.status != "ok":
            return proposal
        code_hash = self._parts.code_hash(candidate.code)
        twin = self.tree.known.get(code_hash) or next(
            (other for other, known in self._hashes.items() if known == code_hash), None
        )
        if twin is None:
            return proposal
        problem = f"duplicate of node {twin}, which was written at the same time"
        return replace(proposal, candidate=replace(candidate, problem=problem, status="duplicate"))

    def _evaluate(self, proposal: Proposal, crew: Crew) -> None:
        parts, action = self._parts, proposal.action
        self.keeper.tell(
            "running", node=proposal.id, operator=action.operator, parents=action.parents
        )
        limits = replace(parts.limits, seconds=parts.budget.run_limit(parts.limits.seconds))
        crew.run(
            lambda: self._evaluator.evaluate(
                f"{proposal.id:04d}",
                proposal.candidate.code,
                parts.folder.node(proposal.id),
                limits,
                smoke=parts.settings.smoke,
            ),
            lambda future: self._evaluated(proposal, crew, future),
        )

    def _evaluated(self, proposal: Proposal, crew: Crew, future: Future[Outcome]) -> None:
        try:
            outcome = future.result()
        except SandboxError as error:
            self._fail(proposal.id, error, may_run=False)
            return
        self._parts.budget.saw(outcome.seconds or outcome.smoke_seconds)
        self._room.saw(self._parts.folder.node(proposal.id) / Path(SUBMISSION).name)
        self._finish(Node(proposal.id, proposal.action, proposal.candidate, outcome), crew)

    def _finish(self, node: Node, crew: Crew) -> None:
        told = self._proposer.lesson(node)
        self.keeper.finished(node, told)
        self._ready.extend(self._engine.finished(node, self._hashes.pop(node.id, "")))
        self.keeper.tell_finished(node, told)
        seen = self._proposer.learn(node)
        if seen is not None and not self._engine.stopping:
            self._advising += 1
            crew.write(
                lambda: self._proposer.advise(seen),
                lambda future: self._advised(node.parents[0], future),
            )

    def _advised(self, node_id: int, future: Future[tuple[str, Usage]]) -> None:
        self._advising -= 1
        try:
            text, usage = future.result()
        except (ModelError, BudgetExceeded) as error:
            # Advice is worth a call, not a run.
            self._waiting(str(error))
            return
        self._proposer.take_advice(node_id, text, usage)

    def _tell_of(self, kind: str, node_id: int, action: Action) -> None:
        self.keeper.tell(kind, node=node_id, operator=action.operator, parents=action.parents)

    def _waiting(self, reason: str) -> None:
        self._parts.on_event({"event": "waiting", "reason": reason, "seconds": 0.0})
