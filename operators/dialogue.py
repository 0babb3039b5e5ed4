"""A conversation with a model under a token budget."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from aide.errors import ContextTooLongError, ReplyError
from aide.interfaces import Context, Form, Message, Model, Reply, Request
from aide.operators.base import shorten, system_prompt
from aide.operators.sections import Draw, fit

CUT_CHARS = 2000


def seed_of(seed: int, attempt: int) -> int:
    """A seed for one call, below 2**31, from the context's seed."""
    digest = hashlib.sha256(f"{seed}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


class Dialogue:
    """Asks a model about one candidate, again and again.

    All turns together keep to the limit of the prompt. What gives way, in this order: the optional
    sections of the first turn, the older exchanges, the last exchange.

    Args:
        context: gives the system prompt, the limits, the seed and the node's number.
        model: whom to ask.
        operator: who asks, for the books.
        draw: writes the first turn.
        form: the shape that the answers should have.
    """

    def __init__(
        self, context: Context, model: Model, operator: str, draw: Draw, form: Form | None
    ) -> None:
        self._context, self._model, self._operator = context, model, operator
        self._draw, self._form = draw, form
        self._limits = context.prompt
        self._exchanges: list[tuple[Message, Message]] = []
        self._calls = 0
        self._halved = False

    def ask(self) -> Reply:
        """The model's next answer, as text that can be written to a file.

        A prompt that the model finds too long is asked once more, at half its size.

        Raises:
            ReplyError: the prompt does not fit its limit, or the model, however it is cut.
            ModelError: the model failed.
        """
        request = self._request()
        self._calls += 1
        try:
            reply = self._model.complete(request)
        except ContextTooLongError as error:
            if self._halved:
                raise ReplyError(f"even half the prompt is too long: {error}") from error
            self._halve(request.chars)
            return self.ask()
        # A lone surrogate can reach a reply through JSON and could not be written to any file.
        return replace(reply, text=reply.text.encode("utf-8", "replace").decode("utf-8"))

    def add(self, reply: Reply, answer: str) -> None:
        """Go on: what the model said, and what it is told."""
        text = reply.text.strip()
        if reply.stop == "length":
            text = shorten(text, CUT_CHARS)
        # Providers refuse a conversation that holds an empty turn.
        said = Message("assistant", text or "(no answer)")
        self._exchanges.append((said, Message("user", answer)))

    def _request(self) -> Request:
        system = system_prompt(self._context, self._limits)
        while True:
            turns = tuple(turn for exchange in self._exchanges for turn in exchange)
            taken = len(system) + sum(len(turn.text) for turn in turns)
            try:
                first = fit(self._draw, self._limits, taken)
            except ReplyError as error:
                if not self._exchanges:
                    why = "; the model refused a longer one" if self._halved else ""
                    raise ReplyError(f"{error}{why}") from error
                del self._exchanges[0]
                continue
            return Request(
                system,
                (Message("user", first), *turns),
                self._operator,
                seed_of(self._context.seed, self._calls),
                max_tokens=self._limits.reply,
                node=self._context.node,
                form=self._form,
            )

    def _halve(self, chars: int) -> None:
        """Bound what follows by half of what was too long, whatever the limit was."""
        self._halved = True
        tokens = int(chars / self._limits.chars_per_token / 2)
        self._limits = replace(self._limits, tokens=min(tokens, self._limits.tokens))
