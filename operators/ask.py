"""Asking a model until code comes out that may run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aide.errors import ReplyError
from aide.interfaces import Candidate, Context, Form, Model, Reply, Usage
from aide.operators.base import CHARS_PER_TOKEN, render, stable_chars
from aide.operators.check import check, normalised_hash
from aide.operators.dialogue import Dialogue
from aide.operators.reply import Written, plan_in, snippet_in
from aide.operators.scratch import Scratchpad
from aide.operators.sections import Draw

TRIES = 3
REFUSALS = 2

Read = Callable[[Reply], Written]
Objection = Callable[[str], str]


def no_objection(_code: str) -> str:
    """Any new program that may run will do."""
    return ""


def ask_for_code(
    context: Context,
    model: Model,
    operator: str,
    draw: Draw,
    read: Read,
    form: Form,
    object_to: Objection = no_objection,
) -> Candidate:
    """Ask a model until its reply holds a program that may run, three times at most.

    Scratch runs do not count as tries, and a second refusal ends them. While a model may run
    something first, its answers are not held to a form.

    Args:
        context: gives the system prompt, the known programs, the limits and the seed.
        model: whom to ask.
        operator: who asks, for the books.
        draw: writes the first turn, its sections cut to sizes in characters.
        read: makes plan and code of a reply; raises ReplyError if it cannot.
        form: the shape that an answer should have.
        object_to: why a program that may run is not yet welcome, or "": it is asked for again,
            and kept with the flag "near-copy" if nothing better comes.

    Returns:
        The first welcome candidate; else the last unwelcome one; else the last with code, with
        its fault; else the last fault.

    Raises:
        ModelError: the model failed.
    """
    pad = Scratchpad(context.scratch, context.prompt)
    dialogue = Dialogue(
        context,
        model,
        operator,
        lambda sizes: pad.offer(draw(sizes)),
        None if pad.offered else form,
    )
    kept, usage, tries, refusals = Candidate("", "", status="rejected"), Usage(), 0, 0
    while tries < TRIES and refusals < REFUSALS:
        try:
            reply = dialogue.ask()
        except ReplyError as error:
            kept = _better(kept, Candidate("", "", problem=str(error), status="rejected"))
            break
        usage += reply.usage
        printed = pad.answer(reply)
        if printed is not None:
            dialogue.add(reply, printed)
            continue
        tries += 1
        refusals += reply.stop == "refusal"
        candidate, objection = _judged(reply, read, context, object_to)
        kept = _better(kept, candidate)
        if not objection:
            break
        dialogue.add(reply, render("again.j2", reason=objection))
    return replace(kept, flags=(*kept.flags, *pad.flags), usage=usage)


def _better(kept: Candidate, new: Candidate) -> Candidate:
    """The one of two candidates that is worth keeping: that runs, has code, is newer."""
    ranks = [(each.status == "ok", bool(each.code)) for each in (kept, new)]
    return new if ranks[1] >= ranks[0] else kept


def _judged(
    reply: Reply, read: Read, context: Context, object_to: Objection
) -> tuple[Candidate, str]:
    """A candidate, and why it is to be asked for again; "" if it is welcome."""
    candidate = candidate_of(reply, read, context)
    if candidate.status != "ok":
        return candidate, candidate.problem
    objection = object_to(candidate.code)
    if objection:
        candidate = replace(candidate, flags=(*candidate.flags, "near-copy"))
    return candidate, objection


def candidate_of(reply: Reply, read: Read, context: Context) -> Candidate:
    """Judge one reply: a candidate that may run, or one that is "rejected" or a "duplicate"."""
    if reply.stop == "length":
        return _rejected(reply, "it was cut off at the length limit; write a shorter one")
    if reply.stop == "refusal":
        return _rejected(reply, "it is a refusal; the answer has to hold a program")
    try:
        written = read(reply)
    except ReplyError as error:
        if snippet_in(reply.text) is not None:
            return _rejected(reply, "no scratch run is left; give the answer itself")
        return _rejected(reply, str(error))
    made = Candidate(written.plan, written.code, flags=written.flags)
    most = stable_chars(context.prompt, "code")
    if len(written.code) > most:
        # It is not kept: it would go to the journal, and no prompt could show it.
        return replace(made, code="", problem=_too_long(written.code, most), status="rejected")
    try:
        check(written.code)
    except ReplyError as error:
        return replace(made, problem=str(error), status="rejected")
    twin = context.known.get(normalised_hash(written.code))
    if twin is not None:
        problem = f"duplicate of node {twin}: the program is the same but for its formatting"
        return replace(made, problem=problem, status="duplicate")
    return made


def _too_long(code: str, most: int) -> str:
    tokens, limit = (int(chars / CHARS_PER_TOKEN) for chars in (len(code), most))
    return f"the program has about {tokens:,} tokens; the most is {limit:,}; write it shorter"


def _rejected(reply: Reply, problem: str) -> Candidate:
    return Candidate(plan_in(reply), "", problem=problem, status="rejected")
