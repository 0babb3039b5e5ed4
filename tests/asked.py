"""A scripted model that keeps what it is asked."""

from __future__ import annotations

from aide.interfaces import Candidate, Context, Operator, Request
from aide.llm.scripted import Answer, ScriptedModel


class Asked:
    """A scripted model that keeps the requests."""

    def __init__(self, *answers: Answer) -> None:
        self.requests: list[Request] = []
        left = iter(answers)

        def answer(request: Request) -> Answer:
            self.requests.append(request)
            return next(left)

        self.model = ScriptedModel(answer)

    @property
    def last(self) -> str:
        return self.requests[-1].messages[-1].text

    def propose(self, operator: Operator, context: Context) -> Candidate:
        return operator.propose(context, self.model)
