"""Has operators write candidates: gathers what each may see, keeps what was learned."""

from __future__ import annotations

from collections.abc import Sequence

from aide import context
from aide.errors import BudgetExceeded, ModelError
from aide.interfaces import Context, PromptLimits, Tree
from aide.node import Action, Node, Proposal
from aide.parts import Parts
from aide.values import Values, lesson

ADVICE = "improve"
"""The operator whose view of a node the advisor gets."""


class Proposer:
    """Writes candidates for a tree that grows.

    Args:
        parts: what the run works with.
        tree: the finished nodes.
        advice: the advice that an earlier session was given, by node.
    """

    def __init__(self, parts: Parts, tree: Tree, advice: dict[int, str]) -> None:
        self._parts, self._tree = parts, tree
        self._preview: str | None = None
        self._values = Values(tree.maximize)
        for node in tree:
            self._values.add(node)
        for node_id, text in advice.items():
            self._values.advise(node_id, text)

    def propose(self, node_id: int, action: Action, pending: Sequence[Action]) -> Proposal:
        """Have an operator write one.

        Raises:
            ModelError: the model failed.
            BudgetExceeded: its calls would pass a cap.
        """
        seen = self._context(node_id, action, pending)
        operator = self._parts.operators[action.operator]
        return Proposal(node_id, action, operator.propose(seen, self._parts.model))

    def lesson(self, node: Node) -> str:
        """One line on what a node teaches; its parents are in the tree."""
        task = self._parts.task.info
        parents = [self._tree[parent] for parent in node.parents]
        return lesson(node, parents, metric=task.metric, maximize=task.maximize)

    def learn(self, node: Node) -> None:
        """Take a finished node, which is in the tree already, into what was learned."""
        self._values.add(node)
        every = self._parts.settings.advice_every
        if every and node.parents and len(self._tree) % every == 0:
            self._advise(node.parents[0])

    def _advise(self, node_id: int) -> None:
        seen = self._context(0, Action(ADVICE, (node_id,)), ())
        try:
            text, usage = self._parts.advise(seen, self._parts.model)
        except (ModelError, BudgetExceeded) as error:
            # Advice is worth a call, not a run.
            self._parts.on_event({"event": "waiting", "reason": str(error), "seconds": 0.0})
            return
        if text:
            self._parts.write(
                {"event": "advice", "node": node_id, "text": text, "calls": usage.calls}
            )
            self._values.advise(node_id, text)

    def _context(self, node_id: int, action: Action, pending: Sequence[Action]) -> Context:
        parts, settings = self._parts, self._parts.settings
        if self._preview is None:
            self._preview = parts.task.preview()
        return context.gather(
            self._tree,
            action,
            task_info=parts.task.info,
            preview=self._preview,
            packages=parts.sandbox.packages(),
            limits=parts.limits,
            # A prime, so that runs with other seeds do not meet the same sequence shifted.
            seed=parts.seed * 1_000_003 + node_id,
            pending=pending,
            node=node_id,
            values=self._values,
            prompt=PromptLimits(
                tokens=settings.prompt_tokens,
                chars_per_token=parts.estimate.chars_per_token(),
                reply=settings.reply_tokens,
            ),
            scratch=parts.scratch(node_id),
            memory=settings.memory,
            cue=settings.cue,
        )
