"""improve: one change of a solution that works."""

from __future__ import annotations

from functools import partial

from aide.interfaces import Candidate, Context, Model
from aide.operators.base import ask_for_code, render
from aide.operators.reply import read_change


class Improve:
    """Makes one change of one working parent; sees the changes that were tried before."""

    name = "improve"

    def propose(self, context: Context, model: Model) -> Candidate:
        (parent,) = context.parents
        prompt = render(
            "improve.j2", parent=parent, siblings=context.siblings, children=context.children
        )
        read = partial(read_change, parent=parent.code)
        return ask_for_code(context, model, self.name, prompt, read)
