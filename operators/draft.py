"""draft: a first solution, from the task alone."""

from __future__ import annotations

from aide.interfaces import Candidate, Context, Model
from aide.operators.base import ask_for_code, render
from aide.operators.reply import read_program


class Draft:
    """Writes a whole program that differs from the drafts that exist."""

    name = "draft"

    def propose(self, context: Context, model: Model) -> Candidate:
        prompt = render("draft.j2", siblings=context.siblings, children=context.children)
        return ask_for_code(context, model, self.name, prompt, read_program)
