"""What all operators share: prompts from templates, and the rules that shorten a text."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined

from aide.interfaces import Context, Node, PromptLimits
from aide.records import SECTIONS

CHARS_PER_TOKEN = 3.0
TRACEBACK = "Traceback (most recent call last):"


def oneline(text: str, n: int) -> str:
    """The text on one line of at most n characters; "…" marks a cut."""
    line = " ".join(text.split())
    return line if len(line) <= n else line[: n - 1].rstrip() + "…"


def shorten(text: str, n: int) -> str:
    """The head and the tail of a text, about n characters in all, cut at whole lines.

    A line between them says how many characters were left out. The last traceback is kept whole
    if it fits into three quarters of n, and its end is always kept. Nothing is left for an n of 0.
    """
    if len(text) <= n:
        return text
    if n <= 0:
        return ""
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


def render(name: str, /, **values: object) -> str:
    """A prompt from a template in `prompts/`, without blank lines around it.

    Raises:
        jinja2.UndefinedError: a value that the template names is missing.
    """
    return _environment.get_template(name).render(values).strip()


def attempt_line(node: Node) -> str:
    """The line on a node in a list of attempts."""
    # The macro itself: a template that imports it would build all macros anew for each line.
    attempts = _environment.get_template("parts.j2").module.__dict__["attempts"]
    return str(attempts((node,)))


def system_prompt(context: Context, limits: PromptLimits | None = None) -> str:
    """The stable head: the same for all nodes of a run, so that a provider can cache it.

    Args:
        context: gives the task, the preview and the packages.
        limits: how large the prompt may be; the context's by default.
    """
    limits = limits or context.prompt
    goal = shorten(context.task.goal.strip(), stable_chars(limits, "task"))
    preview = shorten(context.preview.strip(), stable_chars(limits, "preview"))
    return render(
        "system.j2",
        task=replace(context.task, goal=goal),
        limits=context.limits,
        packages=context.packages,
        preview=preview,
    )


def stable_chars(limits: PromptLimits, section: str) -> int:
    """The most characters of a section whose cut may not move during a run.

    Counted by a fixed ratio: one that is measured as the run goes on would change the stable head
    from call to call, and let a program in that could not be shown later. A small prompt
    bounds it too: goal and preview may have an eighth of it each, a program 35%.
    """
    part = 0.35 if section == "code" else 0.125
    tokens = min(section_tokens(limits, section), limits.tokens * part)
    return int(tokens * CHARS_PER_TOKEN)


def section_tokens(limits: PromptLimits, section: str) -> int:
    """The most tokens of a section; the default's if the limits do not name it."""
    return limits.sections.get(section, SECTIONS[section])
