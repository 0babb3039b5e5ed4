"""One stretch of work on a run."""

from __future__ import annotations

import contextlib

from aide.engine import Engine
from aide.errors import AideError, ModelError, StorageError
from aide.finish import finish
from aide.interfaces import Policy
from aide.loop import INTERRUPTED, Loop
from aide.parts import Parts
from aide.replay import State


class Session:
    """One stretch of work on a run: from its start, or a resume, to where it stops.

    Attributes:
        state: what the journal said at its beginning; only the tree in it grows.
        folder: the run's.
    """

    def __init__(self, parts: Parts, state: State, policy: Policy) -> None:
        self._parts, self.state = parts, state
        engine = Engine(
            state.tree,
            policy,
            steps=parts.budget.steps,
            width=parts.settings.parallel + parts.settings.ahead,
            pending=state.pending.values(),
        )
        self._loop = Loop(parts, engine, state)
        self.folder = parts.folder

    def interrupt(self) -> None:
        """Stop soon, from any thread; the run can be resumed."""
        self._loop.interrupt()

    def run(self) -> str:
        """Search until a limit ends it, then finish; returns the reason for the end."""
        try:
            return self._run()
        except ModelError:
            raise
        except AideError as error:
            with contextlib.suppress(StorageError):
                self._parts.write({"event": "stop", "reason": str(error)})
            raise

    def _run(self) -> str:
        # A crash may have come between a node's journal line and its place in best/.
        self._parts.history.heal(self._loop.tree)
        self._loop.keeper.keep_best()
        failure: ModelError | None = None
        try:
            reason = self._loop.run()
        except ModelError as error:
            # What was found is worth finishing without the model, which is not needed for it.
            failure, reason = error, str(error)
        best = self._loop.tree.best
        if reason != INTERRUPTED and best is not None and not self._is_final(best.id):
            finish(self._parts, self._loop.runner, best)
            if self._loop.runner.cancelled:
                reason = INTERRUPTED
        self._parts.write({"event": "stop", "reason": reason})
        if failure is not None:
            raise failure
        return reason

    def _is_final(self, node_id: int) -> bool:
        final = self.state.final
        return final is not None and final["node"] == node_id and bool(final["refitted"])
