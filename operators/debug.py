"""debug: correct a solution that failed, and keep its approach."""

from __future__ import annotations

from functools import partial

from aide.interfaces import Candidate, Context, Model
from aide.operators.ask import ask_for_code
from aide.operators.base import render, shorten
from aide.operators.forms import Change, form_of
from aide.operators.reply import change_in
from aide.operators.sections import Sizes, attempts


class Debug:
    """Changes one failing parent; sees its log and the attempts that led to it."""

    name = "debug"

    def propose(self, context: Context, model: Model) -> Candidate:
        (parent,) = context.parents

        def draw(sizes: Sizes) -> str:
            ancestors, left_out = attempts(context.ancestors, context.task, sizes["ancestors"])
            return render(
                "debug.j2",
                parent=parent,
                ancestors=ancestors,
                left_out=left_out,
                lessons=shorten(context.lessons, sizes["lessons"]),
                log_chars=sizes["log"],
            )

        read = partial(change_in, parent=parent.code)
        return ask_for_code(context, model, self.name, draw, read, form_of(Change))
