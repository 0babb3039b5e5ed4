"""What all operators share: prompts from templates, and asking a model until code comes out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined

from aide.errors import ReplyError
from aide.interfaces import Candidate, Context, Message, Model, Reply, Request, Usage
from aide.operators.check import MAX_BYTES, check, normalised_hash
from aide.operators.reply import Written, plan_of

TRIES = 3
TRACEBACK = "Traceback (most recent call last):"


def oneline(text: str, n: int) -> str:
    """The text on one line of at most n characters; "…" marks a cut."""
    line = " ".join(text.split())
    return line if len(line) <= n else line[: n - 1].rstrip() + "…"


def shorten(text: str, n: int) -> str:
    """The head and the tail of a text, about n characters in all, cut at whole lines.

    A line between them says how many characters were left out. The last traceback is kept whole
    if it fits into three quarters of n, and its end is always kept.
    """
    if len(text) <= n:
        return text
    start = text.rfind(TRACEBACK)
    wanted = len(text) - start if start >= 0 else 0
    tail_size = min(max(wanted, n // 2), 3 * n // 4)
    head, tail = text[: n - tail_size], text[len(text) - tail_size :]
    head = head[: head.rfind("\n") + 1] or head
    # A cut that falls on a line's start needs no trimming: the traceback's first line stays.
    if text[len(text) - tail_size - 1] != "\n":
        tail = tail[tail.find("\n") + 1 :] or tail
    left_out = len(text) - len(head) - len(tail)
    return f"{head.rstrip()}\n… {left_out:,} characters left out …\n{tail}"


def _template(name: str) -> str | None:
    path = files("aide.operators").joinpath("prompts", name)
    return path.read_text("utf-8") if path.is_file() else None


_environment = Environment(
    loader=FunctionLoader(_template),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    # The prompts are plain text for a model; escaping would change the code in them.
    autoescape=False,
)
_environment.filters |= {"oneline": oneline, "shorten": shorten}


def render(name: str, **values: object) -> str:
    """A prompt from a template in `prompts/`, without blank lines around it.

    Raises:
        jinja2.UndefinedError: a value that the template names is missing.
    """
    return _environment.get_template(name).render(values).strip()


def system_prompt(context: Context) -> str:
    """The stable head: the same for all nodes of a run, so that a provider can cache it."""
    return render(
        "system.j2",
        task=context.task,
        limits=context.limits,
        packages=context.packages,
        preview=context.preview,
    )


def seed_of(seed: int, attempt: int) -> int:
    """A seed for one try, below 2**31, from the context's seed."""
    digest = hashlib.sha256(f"{seed}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def ask_for_code(
    context: Context,
    model: Model,
    operator: str,
    prompt: str,
    read: Callable[[str], Written],
) -> Candidate:
    """Ask a model until its reply holds a program that may run, three times at most.

    Args:
        context: gives the system prompt, the known programs and the seed.
        model: whom to ask.
        operator: who asks, for the books.
        prompt: the user's first turn.
        read: makes plan and code of a reply's text; raises ReplyError if it cannot.

    Returns:
        The first usable candidate; else the last with code, with its fault; else the last fault.

    Raises:
        ModelError: the model failed.
    """
    system = system_prompt(context)
    messages: tuple[Message, ...] = (Message("user", prompt),)
    failed, usage = Candidate("", "", status="rejected"), Usage()
    for attempt in range(TRIES):
        request = Request(system, messages, operator, seed_of(context.seed, attempt))
        reply = model.complete(request)
        # A lone surrogate can reach a reply through JSON and could not be written to any file.
        reply = replace(reply, text=reply.text.encode("utf-8", "replace").decode("utf-8"))
        usage += reply.usage
        candidate = candidate_of(reply, read, context.known)
        if candidate.status == "ok":
            return replace(candidate, usage=usage)
        if candidate.code or not failed.code:
            failed = candidate
        # Providers refuse a conversation that holds an empty turn.
        said = Message("assistant", reply.text.strip() or "(no answer)")
        messages += (said, Message("user", render("again.j2", reason=candidate.problem)))
    return replace(failed, usage=usage)


def candidate_of(
    reply: Reply, read: Callable[[str], Written], known: Mapping[str, int]
) -> Candidate:
    """Judge one reply: a candidate that may run, or one that is "rejected" or a "duplicate"."""
    text = reply.text
    if reply.stop == "length":
        return _rejected(text, "it was cut off at the length limit; answer more briefly")
    if reply.stop == "refusal":
        return _rejected(text, "it is a refusal; the answer has to hold a program")
    try:
        written = read(text)
    except ReplyError as error:
        return _rejected(text, str(error))
    made = Candidate(written.plan, written.code, flags=written.flags)
    try:
        check(written.code)
    except ReplyError as error:
        # What is far too long is not kept: it would go to the journal and into prompts.
        kept = written.code if len(written.code) <= MAX_BYTES else ""
        return replace(made, code=kept, problem=str(error), status="rejected")
    twin = known.get(normalised_hash(written.code))
    if twin is not None:
        problem = f"duplicate of node {twin}: the program is the same but for its formatting"
        return replace(made, problem=problem, status="duplicate")
    return made


def _rejected(text: str, problem: str) -> Candidate:
    return Candidate(plan_of(text), "", problem=problem, status="rejected")
