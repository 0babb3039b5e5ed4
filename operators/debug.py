"""debug: correct a solution that failed, and keep its approach."""

from __future__ import annotations

from functools import partial

from aide.interfaces import Candidate, Context, Model
from aide.operators.base import ask_for_code, render
from aide.operators.reply import read_change

LOG_CHARS = 6000


class Debug:
    """Changes one failing parent; sees its log and the attempts that led to it."""

    name = "debug"

    def propose(self, context: Context, model: Model) -> Candidate:
        (parent,) = context.parents
        prompt = render(
            "debug.j2", parent=parent, ancestors=context.ancestors, log_chars=LOG_CHARS
        )
        read = partial(read_change, parent=parent.code)
        return ask_for_code(context, model, self.name, prompt, read)
