"""merge: one solution out of two that work."""

from __future__ import annotations

from functools import partial

from aide.interfaces import Candidate, Context, Model, Node, TaskInfo
from aide.operators.ask import ask_for_code
from aide.operators.base import render, shorten
from aide.operators.forms import Change, form_of
from aide.operators.reply import change_in
from aide.operators.sections import Sizes, attempts


class Merge:
    """Combines two working parents; the child is a change of the better one, or is written whole.

    The better parent is shown first, and search/replace blocks are read against it.
    """

    name = "merge"

    def propose(self, context: Context, model: Model) -> Candidate:
        better, other = _better_first(context.parents, context.task)

        def draw(sizes: Sizes) -> str:
            siblings, left_out = attempts(context.siblings, context.task, sizes["siblings"])
            return render(
                "merge.j2",
                better=better,
                other=other,
                siblings=siblings,
                left_out=left_out,
                lessons=shorten(context.lessons, sizes["lessons"]),
            )

        read = partial(change_in, parent=better.code)
        return ask_for_code(context, model, self.name, draw, read, form_of(Change))


def _better_first(parents: tuple[Node, ...], task: TaskInfo) -> tuple[Node, Node]:
    first, second = parents
    if first.score is None or second.score is None:
        return (first, second) if first.works else (second, first)
    one, two = first.score.value, second.score.value
    swapped = two > one if task.maximize else two < one
    return (second, first) if swapped else (first, second)
