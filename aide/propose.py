"""Has operators write candidates: gathers what each may see, keeps what was learned.

What touches the tree, the journal or what was learned is for the search's own thread; only the
calls of a model, `write` and `advise`, may be made from others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from aide import context
from aide.interfaces import Context, PromptLimits, Tree
from aide.node import Action, Node, Proposal, Usage
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

    def context(self, node_id: int, action: Action, pending: Sequence[Action]) -> Context:
        """What the operator of an action may see now."""
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

    def write(self, node_id: int, action: Action, seen: Context) -> Proposal:
        """Have an operator write a candidate; may be called from any thread.

        Raises:
            ModelError: the model failed.
            BudgetExceeded: its calls would pass a cap.
        """
        operator = self._parts.operators[action.operator]
        candidate = operator.propose(seen, self._parts.model)
        lines, changed = _sizes(candidate.code, seen.parents)
        return Proposal(node_id, action, replace(candidate, lines=lines, changed=changed))

    def lesson(self, node: Node) -> str:
        """One line on what a node teaches; its parents are in the tree."""
        task = self._parts.task.info
        parents = [self._tree[parent] for parent in node.parents]
        return lesson(node, parents, metric=task.metric, maximize=task.maximize)

    def learn(self, node: Node) -> Context | None:
        """Take a finished node, which is in the tree already, into what was learned.

        Returns:
            What an advisor is to see, if it is time to ask one; its first parent is the subject.
        """
        self._values.add(node)
        every = self._parts.settings.advice_every
        if not every or not node.parents or len(self._tree) % every:
            return None
        return self.context(0, Action(ADVICE, node.parents[:1]), ())

    def advise(self, seen: Context) -> tuple[str, Usage]:
        """Ask a model for advice; may be called from any thread.

        Raises:
            ModelError: the model failed.
            BudgetExceeded: its call would pass a cap.
        """
        return self._parts.advise(seen, self._parts.model)

    def take_advice(self, node_id: int, text: str, usage: Usage) -> None:
        """Write an advice down and have later contexts show it."""
        if text:
            self._parts.write(
                {"event": "advice", "node": node_id, "text": text, "calls": usage.calls}
            )
            self._values.advise(node_id, text)


def _sizes(code: str, parents: Sequence[Node]) -> tuple[int, int]:
    """How many lines a program has, and how many of them its first parent does not have."""
    lines = _lines(code)
    fresh = lines - _lines(parents[0].code) if parents else Counter[str]()
    return lines.total(), fresh.total()


def _lines(code: str) -> Counter[str]:
    return Counter(line for each in code.splitlines() if (line := each.strip()))
