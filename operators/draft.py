"""draft: a first solution, from the task alone."""

from __future__ import annotations

from functools import partial

from aide.interfaces import Candidate, Context, Model
from aide.operators.ask import ask_for_code
from aide.operators.base import render, shorten
from aide.operators.forms import Program, form_of
from aide.operators.reply import program_in
from aide.operators.sections import Sizes, attempts
from aide.operators.similar import near_copy


class Draft:
    """Writes a whole program that differs from the drafts that exist."""

    name = "draft"

    def propose(self, context: Context, model: Model) -> Candidate:
        def draw(sizes: Sizes) -> str:
            siblings, left_out = attempts(context.siblings, context.task, sizes["siblings"])
            return render(
                "draft.j2",
                siblings=siblings,
                left_out=left_out,
                lessons=shorten(context.lessons, sizes["lessons"]),
                children=context.children,
                # Models without a temperature answer the same prompt alike.
                direction=context.seed,
            )

        new = partial(near_copy, others=context.siblings)
        return ask_for_code(
            context, model, self.name, draw, program_in, form_of(Program), object_to=new
        )
