"""scripted: answers that are given beforehand. A public fake, for tests and demonstrations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle as repeated
from pathlib import Path
from threading import Lock
from typing import Literal, TypeAlias, get_args

from aide.errors import ConfigError, ModelError
from aide.interfaces import Reply, Request, Usage

Stop: TypeAlias = Literal["end", "length", "refusal"]
Answer: TypeAlias = str | tuple[str, Stop]
"""An answer's text, or the text and why it ended."""

CHARS_PER_TOKEN = 4

_END: Stop = "end"


class ScriptedModel:
    """Gives the answers of a script, one a call, or those of a function. Safe in threads.

    Tokens are counted as a quarter of the characters, rounded up; money is 0. A script begins
    anew with each object, and so with each resume of a run.

    Args:
        answers: the answers in order; or a function from request to answer, which may raise
            ModelError; or the path of a file for `from_file`.
        cycle: begin again when the answers are used up.

    Raises:
        ConfigError: there is no script, or its file is not one.
    """

    name = "scripted"

    def __init__(
        self,
        answers: Iterable[Answer] | Callable[[Request], Answer] | Path | str | None = None,
        *,
        cycle: bool = False,
    ) -> None:
        self._lock = Lock()
        self._answers: Iterator[Answer] = iter(())
        self._function: Callable[[Request], Answer] | None = None
        if answers is None:
            raise ConfigError("the scripted model needs a script: give it as scripted:FILE")
        # A string is a path: taken for a list of answers it would give one letter a call.
        if isinstance(answers, str | Path):
            answers = _answers_in(Path(answers))
        if callable(answers):
            self._function = answers
        else:
            self._answers = repeated(answers) if cycle else iter(answers)

    @classmethod
    def from_file(cls, path: Path | str, *, cycle: bool = False) -> ScriptedModel:
        """Read a script: JSON lines, each a string or {"text": ..., "stop": ...}.

        Raises:
            ConfigError: the file cannot be read, or a line is neither; the message gives the line.
        """
        return cls(Path(path), cycle=cycle)

    def complete(self, request: Request) -> Reply:
        """The next answer.

        Raises:
            ModelError: the script is at its end.
        """
        answer = self._function(request) if self._function else self._next()
        text, stop = answer if isinstance(answer, tuple) else (answer, _END)
        asked = len(request.system) + sum(len(message.text) for message in request.messages)
        usage = Usage(calls=1, tokens_in=_tokens(asked), tokens_out=_tokens(len(text)))
        return Reply(text, self.name, usage, stop)

    def _next(self) -> Answer:
        with self._lock:
            for answer in self._answers:
                return answer
        raise ModelError("the script is at its end")


def _tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)


def _answers_in(path: Path) -> list[Answer]:
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the script {path} cannot be read: {error}") from error
    return [
        _answer(line, f"{path}, line {number}")
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]


def _answer(line: str, where: str) -> Answer:
    try:
        given = json.loads(line)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{where}: not JSON: {error}") from error
    if isinstance(given, str):
        return given
    if isinstance(given, dict) and isinstance(given.get("text"), str):
        stop = given.get("stop", "end")
        if stop in get_args(Stop):
            return given["text"], stop
        raise ConfigError(f"{where}: stop has to be one of {', '.join(get_args(Stop))}")
    raise ConfigError(f'{where}: give a string or {{"text": ..., "stop": ...}}')
