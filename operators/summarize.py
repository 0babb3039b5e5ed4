"""summarize: one line of advice out of what was learned below a node."""

from __future__ import annotations

from aide.interfaces import Context, Message, Model, Reply, Request, Usage
from aide.operators.base import CHARS_PER_TOKEN, oneline, render, section_tokens, shorten
from aide.operators.dialogue import seed_of
from aide.operators.forms import Advice, form_of, object_in
from aide.operators.reply import plan_of

ADVICE_CHARS = 200


def advise(context: Context, model: Model) -> tuple[str, Usage]:
    """Ask a model what the lessons of a node suggest to try next, once.

    Args:
        context: its lessons are what is to be summed up; its first parent is the node.
        model: whom to ask.

    Returns:
        One printable line of at most 200 characters, or "" if the reply holds none; and what the
        call used.

    Raises:
        ModelError: the model failed.
    """
    most = int(section_tokens(context.prompt, "lessons") * CHARS_PER_TOKEN)
    prompt = render(
        "advice.j2",
        task=context.task,
        parent=context.parents[0] if context.parents else None,
        lessons=shorten(context.lessons.strip(), most),
    )
    request = Request(
        render("advice-system.j2"),
        (Message("user", prompt),),
        "summarize",
        seed_of(context.seed, 0),
        max_tokens=context.prompt.reply,
        node=context.node,
        form=form_of(Advice),
    )
    reply = model.complete(request)
    return _advice_in(reply), reply.usage


def _advice_in(reply: Reply) -> str:
    if reply.stop != "end":
        return ""
    data = object_in(reply.text, Advice) if reply.data is None else reply.data
    if data is not None:
        found = data.get("advice")
        return _line(found) if isinstance(found, str) else ""
    # An answer with code in it is an answer to another question.
    return "" if "```" in reply.text else _line(reply.text)


def _line(text: str) -> str:
    """Its printable prose, on one bounded line."""
    return oneline(plan_of(text), ADVICE_CHARS)
