"""improve: one change of a solution that works."""

from __future__ import annotations

from functools import partial

from aide.interfaces import Candidate, Context, Model
from aide.operators.ask import ask_for_code
from aide.operators.base import render, shorten
from aide.operators.forms import Change, form_of
from aide.operators.reply import change_in
from aide.operators.sections import Sizes, attempts


class Improve:
    """Makes one change of one working parent; sees the changes that were tried before."""

    name = "improve"

    def propose(self, context: Context, model: Model) -> Candidate:
        (parent,) = context.parents

        def draw(sizes: Sizes) -> str:
            siblings, left_out = attempts(context.siblings, context.task, sizes["siblings"])
            return render(
                "improve.j2",
                parent=parent,
                siblings=siblings,
                left_out=left_out,
                lessons=shorten(context.lessons, sizes["lessons"]),
                children=context.children,
                # Models without a temperature answer the same prompt alike.
                direction=context.seed,
            )

        read = partial(change_in, parent=parent.code)
        return ask_for_code(context, model, self.name, draw, read, form_of(Change))
