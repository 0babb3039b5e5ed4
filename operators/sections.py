"""The changing part of a prompt under a token budget: what is cut, how, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from aide.errors import ReplyError
from aide.interfaces import Node, PromptLimits, TaskInfo
from aide.operators.base import attempt_line, section_tokens

SHRINK = ("siblings", "ancestors", "lessons", "log")
"""The sections that shrink if the sum is too large, the most dispensable first."""

Sizes = Mapping[str, int]
"""The most characters of each section, by name."""

Draw = Callable[[Sizes], str]
"""Writes a prompt whose sections have at most these sizes."""

_STEPS = (0.5, 0.25, 0.0)
# The end of a traceback is what a debug lives on.
_FLOORS = {"log": 600}


def fit(draw: Draw, limits: PromptLimits, taken: int) -> str:
    """A prompt in which each section keeps to its limit, and the sum to its own.

    If the sum is too large, the sections of `SHRINK` are halved, quartered and dropped, one after
    the other; a log keeps 600 characters. Code is never cut.

    Args:
        draw: writes the prompt.
        limits: how large it may be.
        taken: characters that the rest of the conversation has, to be counted in.

    Raises:
        ReplyError: it does not fit with everything dropped that can be.
    """
    room = int(limits.tokens * limits.chars_per_token) - taken
    size = 0
    for sizes in _shrinking(limits):
        prompt = draw(sizes)
        size = len(prompt)
        if size <= room:
            return prompt
    tokens = int((size + taken) / limits.chars_per_token)
    raise ReplyError(
        f"the prompt is too long at its shortest: about {tokens:,} tokens, "
        f"of {limits.tokens:,} allowed"
    )


def _shrinking(limits: PromptLimits) -> Iterator[Sizes]:
    full = {name: int(section_tokens(limits, name) * limits.chars_per_token) for name in SHRINK}
    sizes = dict(full)
    yield sizes
    for name in SHRINK:
        for share in _STEPS:
            sizes = sizes | {name: max(int(full[name] * share), _FLOORS.get(name, 0))}
            yield sizes


def attempts(nodes: Sequence[Node], task: TaskInfo, chars: int) -> tuple[tuple[Node, ...], int]:
    """The attempts of a list that have room, and how many are left out.

    The newest stays first of all, then the best, then the newer ones; the order is kept.

    Args:
        nodes: the oldest first.
        task: says which score is better.
        chars: the room for their lines.
    """
    sign = 1 if task.maximize else -1
    newest = sorted(range(len(nodes)), reverse=True)
    scores = {at: sign * node.score.value for at, node in enumerate(nodes) if node.score}
    best = [max(scores, key=lambda at: scores[at])] if scores else []
    kept: set[int] = set()
    for at in (*newest[:1], *best, *newest[1:]):
        line = 0 if at in kept else len(attempt_line(nodes[at])) + 1
        if line > chars:
            break
        kept.add(at)
        chars -= line
    return tuple(nodes[at] for at in sorted(kept)), len(nodes) - len(kept)
