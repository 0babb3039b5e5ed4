"""The question in a prompt: what is asked, about which programs, after which attempts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from aide.interfaces import Request
from aide.llm.offline.facts import Facts, read_facts

_SOLUTION = re.compile(
    r"^# Solution (?P<id>\d+)\n(?:Score: (?P<score>\S+)[^\n]*\n\n)?```python\n(?P<code>.*?)\n```$",
    re.MULTILINE | re.DOTALL,
)
_ATTEMPT = re.compile(r"^- (\d+) \((\w+)\): (.*) -> (?:score (\S+)|([a-z-]+))(.*)$", re.MULTILINE)
_LOG = re.compile(r"^Status: .*?```text\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Solution:
    """A program that the prompt shows, and its score if it has one."""

    id: int
    code: str
    score: float | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """A line on what was tried.

    Attributes:
        plan: what was done.
        score: how it went; None if it failed.
        failure: its status and reason; "" if it worked.
    """

    plan: str
    score: float | None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What a prompt asks for.

    Attributes:
        kind: which of the operators' questions it is.
        facts: the task.
        solutions: the programs to work on: none, one, or two to merge.
        attempts: what was tried: other drafts, other changes, or the steps that led here.
        log: status, reason and output of a run that failed.
        ambition: 0 for simple, 1 for moderate, 2 for bold.
        answers: the author's own earlier answers that could not be used.
        seed: of the request.
    """

    kind: Literal["draft", "improve", "debug", "merge"]
    facts: Facts
    solutions: tuple[Solution, ...]
    attempts: tuple[Attempt, ...]
    log: str
    ambition: int
    answers: tuple[str, ...]
    seed: int


def read_question(request: Request) -> Question:
    """Read a request's text as a language model would; the operator's name is not used."""
    text = request.messages[0].text
    solutions = tuple(
        Solution(int(found["id"]), found["code"] + "\n", _score(found["score"]))
        for found in _SOLUTION.finditer(text)
    )
    kind: Literal["draft", "improve", "debug", "merge"] = "draft"
    if solutions and "# What happened" in text:
        kind = "debug"
    elif solutions:
        kind = "improve" if len(solutions) == 1 else "merge"
    return Question(
        kind=kind,
        facts=read_facts(request.system),
        solutions=solutions,
        attempts=_attempts(_SOLUTION.sub("", text)),
        log=_log(text) if kind == "debug" else "",
        ambition=_ambition(text),
        answers=tuple(m.text for m in request.messages if m.role == "assistant"),
        seed=request.seed,
    )


def _attempts(text: str) -> tuple[Attempt, ...]:
    return tuple(
        Attempt(plan, _score(score), "" if score else (status + rest).strip())
        for _, _, plan, score, status, rest in _ATTEMPT.findall(text)
    )


def _log(text: str) -> str:
    found = _LOG.search(text)
    return found.group(0) if found else text[text.find("# What happened") :]


def _ambition(text: str) -> int:
    if "moderately ambitious" in text or "of some depth" in text:
        return 1
    return 2 if "Be ambitious" in text or "a bold one" in text else 0


def _score(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
