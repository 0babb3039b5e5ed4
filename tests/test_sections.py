"""The prompt under a token budget: what is cut, what is not, and what happens at the limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.errors import ContextTooLongError, ReplyError
from aide.interfaces import Context, Message, Operator, PromptLimits, Request
from aide.llm.scripted import Answer, ScriptedModel
from aide.node import Node
from aide.operators.base import CHARS_PER_TOKEN, system_prompt
from aide.operators.debug import Debug
from aide.operators.draft import Draft
from aide.operators.improve import Improve
from aide.operators.merge import Merge
from aide.operators.sections import SHRINK, attempts, fit
from aide.records import SECTIONS
from tests.trees import LIMITS, PACKAGES, PREVIEW, PROGRAM, TASK, node

FENCED = f"A plan.\n\n```python\n{PROGRAM}```\n"
LOG = "epoch\n" * 3000 + "Traceback (most recent call last):\n  File a.py\nKeyError: 'gone'\n"
WORDY = tuple(node(n, "improve", (1,), plan=f"Try {n}. " + "p" * 400) for n in range(10, 40))
LESSONS = "\n".join(f"Lesson {n}: scaling helps." for n in range(200))


def context(*parents: Node, **changes: object) -> Context:
    seen = Context(TASK, PREVIEW, PACKAGES, parents, WORDY, WORDY, 3, {}, LIMITS, 5,
                   lessons=LESSONS)  # fmt: skip
    return replace(seen, **changes)  # type: ignore[arg-type]  # any field of a Context


CASES: Mapping[str, tuple[Operator, tuple[Node, ...]]] = {
    "draft": (Draft(), ()),
    "improve": (Improve(), (node(1, value=0.8),)),
    "debug": (Debug(), (node(2, log=LOG, reason="KeyError: 'gone'"),)),
    "merge": (Merge(), (node(1, value=0.8), node(3, value=0.7, code=PROGRAM + "# other\n"))),
}


def requests(operator: Operator, seen: Context, *answers: Answer) -> list[Request]:
    """What an operator asks, given answers; the last one stands for all that follow."""
    asked: list[Request] = []

    def answer(request: Request) -> Answer:
        asked.append(request)
        return answers[min(len(asked), len(answers)) - 1]

    operator.propose(seen, ScriptedModel(answer))
    return asked


def first_of(name: str, **changes: object) -> Request:
    operator, parents = CASES[name]
    return requests(operator, context(*parents, **changes), FENCED)[0]


def tokens(request: Request, limits: PromptLimits) -> float:
    return request.chars / limits.chars_per_token


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("most", [2200, 3000, 5000, 28_000])
@pytest.mark.parametrize("ratio", [2.0, 3.0, 4.5])
def test_no_prompt_is_over_the_limit_and_code_is_whole(name: str, most: int, ratio: float) -> None:
    limits = PromptLimits(tokens=most, chars_per_token=ratio)
    request = first_of(name, prompt=limits)
    assert tokens(request, limits) <= most
    for parent in CASES[name][1]:
        assert parent.code in request.messages[0].text


def test_each_section_keeps_to_its_own_limit() -> None:
    sections = dict(SECTIONS) | {"siblings": 300, "ancestors": 250, "lessons": 50, "log": 200}
    limits = PromptLimits(sections=sections)
    improve, debug = (
        first_of(name, prompt=limits).messages[0].text for name in ("improve", "debug")
    )
    assert len(section(improve, "Changes of it that were tried")) <= 300 * 3 + 100
    assert len(section(debug, "Attempts that led to it")) <= 250 * 3 + 50
    assert len(section(debug, "What was learned")) <= 50 * 3 + 50
    assert len(section(debug, "What happened")) <= 200 * 3 + 120
    assert "KeyError: 'gone'\n```" in debug


def section(prompt: str, heading: str) -> str:
    """The text of a section, up to the next heading."""
    return prompt.partition(f"# {heading}\n")[2].partition("\n# ")[0]


@pytest.mark.parametrize(
    ("name", "marks"),
    [
        ("improve", ("# Changes", "# What was learned")),
        ("debug", ("# Attempts", "# What was learned", "epoch\n" * 300)),
        ("merge", ("# Merges", "# What was learned")),
        ("draft", ("# Drafts", "# What was learned")),
    ],
)
def test_sections_shrink_in_their_order(name: str, marks: tuple[str, ...]) -> None:
    """As the limit falls, other attempts go first, then lessons, then all of a log but its end."""
    gone: dict[str, int] = {}
    operator, parents = CASES[name]
    for most in range(4400, 0, -110):
        asked = requests(operator, context(*parents, prompt=PromptLimits(most)), FENCED)
        if not asked:
            break
        text = asked[0].messages[0].text
        assert name != "debug" or "KeyError: 'gone'\n```" in text
        for mark in marks:
            if mark not in text:
                gone.setdefault(mark, most)
    assert tuple(gone) == marks
    assert len(set(gone.values())) == len(marks)
    assert SHRINK == ("siblings", "ancestors", "lessons", "log")


def test_what_does_not_fit_is_rejected_without_a_call() -> None:
    parent = node(1, value=0.8, code=PROGRAM + "# " + "x" * 30_000)
    seen = context(parent, prompt=PromptLimits(tokens=8000))
    candidate = Improve().propose(seen, ScriptedModel([]))
    assert (candidate.status, candidate.code, candidate.usage.calls) == ("rejected", "", 0)
    assert "tokens, of 8,000 allowed" in candidate.problem


SMALL = PromptLimits(tokens=6000, chars_per_token=2.6)
USUAL = PromptLimits(chars_per_token=2.6)


@pytest.mark.parametrize(
    ("limits", "most", "shown"),
    # A small prompt has room for one of the longest programs, and not for the two of a merge.
    [(SMALL, 6300, ("improve", "debug")), (USUAL, 24_000, ("improve", "debug", "merge"))],
)
def test_a_program_that_could_not_be_shown_is_not_born(
    limits: PromptLimits, most: int, shown: tuple[str, ...]
) -> None:
    long = "many words of it\n" * 1000
    full = context(prompt=limits, preview=long, task=replace(TASK, goal=long))
    comment = "# " + "x" * (most - len(PROGRAM) - 3) + "\n"
    fits, over = (
        Draft().propose(full, ScriptedModel([f"```python\n{PROGRAM}{comment}{extra}```"] * 3))
        for extra in ("", "x = 1\n")
    )
    assert (fits.status, len(fits.code)) == ("ok", most)
    assert (over.status, over.code) == ("rejected", "")
    assert over.problem.endswith(f"; the most is {most // 3:,}; write it shorter")
    for name in shown:
        operator, parents = CASES[name]
        longest = tuple(replace(each, candidate=fits) for each in parents)
        assert requests(operator, replace(full, parents=longest), FENCED), name


def test_the_system_prompt_does_not_move_with_calibration_or_node() -> None:
    systems = {
        first_of(name, prompt=PromptLimits(tokens=4000, chars_per_token=ratio)).system
        for name in CASES
        for ratio in (2.0, 3.0, 4.2)
    }
    assert len(systems) == 1


def test_goal_and_preview_are_cut_at_whole_lines() -> None:
    long = "".join(f"line {number} of it\n" for number in range(3000))
    seen = context(preview=long, task=replace(TASK, goal=long))
    system = system_prompt(seen)
    most = (SECTIONS["task"] + SECTIONS["preview"]) * CHARS_PER_TOKEN
    assert most * 0.9 < len(system) < most + 2000
    cuts = [line for line in system.split("\n") if "left out" in line]
    assert len(cuts) == 2
    lines = set(long.split("\n"))
    assert sum(line in lines for line in system.split("\n")) > 500
    assert not [x for x in system.split("\n") if x.endswith("of") or x.startswith("of it")]


def test_the_newest_and_the_best_attempt_stay() -> None:
    nodes = tuple(
        node(n, "improve", (1,), value=0.9 if n == 3 else 0.5 + n / 100) for n in range(2, 12)
    )
    kept, left_out = attempts(nodes, TASK, 180)
    assert [each.id for each in kept] == [3, 10, 11]
    assert left_out == 7
    lower = replace(TASK, maximize=False)
    assert [each.id for each in attempts(nodes, lower, 120)[0]] == [2, 11]
    assert attempts(nodes, TASK, 5) == ((), 10)
    assert attempts((), TASK, 100) == ((), 0)
    assert attempts(nodes, TASK, 10_000) == (nodes, 0)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 300), st.booleans()), max_size=12),
    st.integers(0, 3000),
)
def test_attempts_have_room_and_keep_their_order(
    sizes: list[tuple[int, bool]], chars: int
) -> None:
    nodes = tuple(
        node(n, value=n / 7 if works else None, plan="p" * size)
        for n, (size, works) in enumerate(sizes, 1)
    )
    kept, left_out = attempts(nodes, TASK, chars)
    assert len(kept) + left_out == len(nodes)
    assert list(kept) == sorted(kept, key=lambda each: each.id)
    assert not kept or kept[-1] is nodes[-1]


def test_fit_counts_the_rest_of_the_conversation() -> None:
    limits = PromptLimits(tokens=1000)
    assert fit(lambda _: "x" * 1000, limits, 2000) == "x" * 1000
    with pytest.raises(ReplyError, match="about 1,000 tokens"):
        fit(lambda _: "x" * 1001, limits, 2000)
    sizes: list[Mapping[str, int]] = []

    def draw(given: Mapping[str, int]) -> str:
        sizes.append(given)
        return "x" * sum(given.values())

    with pytest.raises(ReplyError):
        fit(draw, limits, 3000)
    totals = [sum(given.values()) for given in sizes]
    assert totals == sorted(totals, reverse=True)
    assert sizes[-1] == {"siblings": 0, "ancestors": 0, "lessons": 0, "log": 600}


def test_a_long_conversation_gives_way_in_order() -> None:
    """Sections first, then the older exchange: the sum keeps to the limit on every try."""
    limits = PromptLimits(tokens=4000)
    wrong = ["Wrong. " + letter * 5000 for letter in "ab"]
    seen = context(node(1, value=0.8), prompt=limits)
    first, second, third = requests(Improve(), seen, *wrong, FENCED)
    assert max(tokens(each, limits) for each in (first, second, third)) <= 4000
    assert "# Changes of it" in first.messages[0].text
    assert len(second.messages) == 3
    assert len(second.messages[0].text) < len(first.messages[0].text)
    assert [each.text[:8] for each in third.messages[1:2]] == ["Wrong. b"]
    assert third.messages[-1].text.startswith("Your answer cannot be used")


class Window:
    """A scripted model whose context window has room for some characters."""

    def __init__(self, chars: int, *answers: Answer) -> None:
        self.requests: list[Request] = []
        left = iter(answers)

        def answer(request: Request) -> Answer:
            self.requests.append(request)
            if request.chars > chars:
                raise ContextTooLongError("the prompt has too many tokens")
            return next(left)

        self.model = ScriptedModel(answer)


def test_a_prompt_that_the_model_finds_too_long_is_halved_once() -> None:
    seen = context(node(1, value=0.8))
    window = Window(6000, "nothing", FENCED.replace("C=1.0", "C=9.0"))
    candidate = Improve().propose(seen, window.model)
    long, short, again = window.requests
    assert (candidate.status, candidate.usage.calls) == ("ok", 2)
    assert short.chars <= long.chars / 2 < 6000
    assert PROGRAM in short.messages[0].text
    assert again.chars <= 6000


def test_a_prompt_that_is_too_long_twice_ends_the_node() -> None:
    seen = context(node(1, value=0.8))
    window = Window(3000)
    candidate = Improve().propose(seen, window.model)
    assert (candidate.status, len(window.requests)) == ("rejected", 2)
    assert "even half the prompt is too long: the prompt has too many tokens" in candidate.problem
    bare = context(node(1, value=0.8), siblings=(), lessons="")
    candidate = Improve().propose(bare, Window(1000).model)
    assert "; the model refused a longer one" in candidate.problem


def test_a_fault_before_the_window_was_full_is_kept() -> None:
    """A program with a fault is worth more to the books than the reason for the end."""
    broken = FENCED.replace("model.fit(", "model.fit((") + "x" * 6000
    seen = context(node(1, value=0.8), siblings=(), lessons="")
    window = Window(6000, broken, "nothing", "nothing")
    candidate = Improve().propose(seen, window.model)
    assert candidate.status == "rejected"
    assert "model.fit((" in candidate.code


def test_a_cut_answer_is_not_sent_back_whole() -> None:
    cut: Answer = ("x = 1\n" * 5000, "length")
    _, second, *_ = requests(Draft(), context(), cut, FENCED)
    assert len(second.messages[1].text) < 2100
    assert "characters left out" in second.messages[1].text


def test_a_request_carries_the_node_the_form_and_the_longest_answer() -> None:
    request = first_of("improve", node=17, prompt=PromptLimits(reply=999))
    assert (request.node, request.max_tokens) == (17, 999)
    assert request.form is not None
    assert request.form.name == "change"
    assert isinstance(request.messages[0], Message)


def test_the_prompt_of_a_huge_tree_is_that_of_a_small_one() -> None:
    small = first_of("improve", siblings=WORDY[:15])
    large = first_of("improve", siblings=WORDY * 20)
    assert large.chars <= 1.1 * small.chars


def test_a_long_list_of_packages_is_cut_and_counted() -> None:
    packages = {f"package-{number:03}": "1.0" for number in range(250)}
    text = system_prompt(context(packages=packages))
    assert "package-099 1.0, and 150 more\n" in text
    assert "package-100" not in text
