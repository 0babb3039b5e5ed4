"""How many tokens a text is, learned from what the providers count themselves."""

from __future__ import annotations

import json
import math
import threading
from dataclasses import dataclass

from aide.records import Request

CHARS_PER_TOKEN = 3.0
"""Before anything was seen: English and Python have 3 to 4.5 characters a token."""

DENSEST = 1.5
"""Before anything was seen, the fewest characters a token that a bound reckons with."""

MARGIN = 1.25
"""How much denser than anything seen a text may be, in a bound."""

OVERHEAD = 600
"""Tokens that a service adds to any prompt, such as its own words on tools, in a bound."""

SHORT = 1000
"""Shorter prompts, in characters, are not learned from: the overhead outweighs the text."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """Sums and extremes, so that the order of the observations leaves no trace."""

    chars: int = 0
    tokens: int = 0
    densest: float = math.inf

    def and_(self, chars: int, tokens: int) -> _Seen:
        densest = min(self.densest, chars / tokens)
        return _Seen(self.chars + chars, self.tokens + tokens, densest)


def size(request: Request) -> int:
    """The size of all that is sent, in characters: the prompt and the form."""
    form = request.form
    if form is None:
        return request.chars
    schema = json.dumps(dict(form.schema))
    return request.chars + len(form.name) + len(form.description) + len(schema)


def extra_bytes(request: Request) -> int:
    """By how much the prompt has more bytes than characters: rare signs take a token a byte."""
    texts = [request.system, *(message.text for message in request.messages)]
    return sum(len(text.encode("utf-8", "surrogatepass")) - len(text) for text in texts)


class TokenEstimate:
    """Characters to tokens, for each model. Safe in threads.

    The same observations in any order give the same estimates, so that a resumed run goes on with
    those that it would have had.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, _Seen] = {}

    def observe(self, model: str, chars: int, tokens: int) -> None:
        """Learn that a model's service counted so many tokens for a prompt."""
        if chars < SHORT or tokens <= 0:
            return
        with self._lock:
            self._seen[model] = self._seen.get(model, _Seen()).and_(chars, tokens)

    def tokens(self, model: str, chars: int) -> int:
        """The best estimate for a prompt: the model's mean so far."""
        with self._lock:
            seen = self._seen.get(model)
        ratio = seen.chars / seen.tokens if seen else CHARS_PER_TOKEN
        return math.ceil(chars / ratio)

    def most(self, model: str, chars: int) -> int:
        """An upper bound for a prompt: the densest one so far, a margin, and an overhead."""
        with self._lock:
            seen = self._seen.get(model)
        ratio = seen.densest / MARGIN if seen else DENSEST
        return math.ceil(chars / ratio) + OVERHEAD

    def chars_per_token(self, model: str = "") -> float:
        """Characters that a token has at the least, a multiple of 0.1, for cutting prompts.

        Args:
            model: one model's; all models' where it is empty or has not been seen.
        """
        with self._lock:
            every = [self._seen[model]] if model in self._seen else list(self._seen.values())
        if not every:
            return CHARS_PER_TOKEN
        densest = min(seen.densest for seen in every)
        # Rounded down, or each new extreme would move every cut in every prompt a little.
        return max(0.1, math.floor(densest * 10 + 1e-9) / 10)
