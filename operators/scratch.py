"""Scratch runs: short programs that a model has run before it answers."""

from __future__ import annotations

from aide.interfaces import PromptLimits, Reply, Scratch
from aide.operators.base import render, section_tokens, shorten
from aide.operators.reply import snippet_in


class Scratchpad:
    """The scratch runs of one candidate.

    Args:
        scratch: what may be run; None for nothing.
        limits: bound what is shown of the output, as of a log.
    """

    def __init__(self, scratch: Scratch | None, limits: PromptLimits) -> None:
        self._scratch, self._runs = scratch, 0
        self._chars = int(section_tokens(limits, "log") * limits.chars_per_token)

    @property
    def offered(self) -> bool:
        return self._scratch is not None and self._scratch.runs > 0

    @property
    def flags(self) -> tuple[str, ...]:
        return (f"scratch:{self._runs}",) if self._runs else ()

    def offer(self, prompt: str) -> str:
        """A prompt with the offer to run something, if anything may be run."""
        if not self.offered:
            return prompt
        return prompt + "\n\n" + render("scratch.j2", scratch=self._scratch)

    def answer(self, reply: Reply) -> str | None:
        """Run what a reply asks for; returns the next turn, or None if it asks for nothing that
        may be run."""
        snippet = snippet_in(reply.text)
        if self._scratch is None or snippet is None or self._runs >= self._scratch.runs:
            return None
        self._runs += 1
        output = shorten(self._scratch.run(snippet), self._chars)
        return render("scratch-result.j2", output=output, left=self._scratch.runs - self._runs)
