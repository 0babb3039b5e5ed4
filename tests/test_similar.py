"""The likeness of programs: trivial edits against real differences, on real programs."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.interfaces import Message, Request
from aide.llm.offline import OfflineModel
from aide.llm.offline.recipe import parse_recipe
from aide.operators.base import render
from aide.operators.reply import read_program
from aide.operators.similar import NEAR, near_copy, similarity
from tests.offline_tasks import system
from tests.trees import PROGRAM, node


def drafts(task: str, seeds: int) -> list[str]:
    """Different first programs of the offline model."""
    prompts = [render("draft.j2", siblings=(), children=children) for children in (0, 2, 5)]
    requests = [
        Request(system(task), (Message("user", prompt),), "draft", seed)
        for prompt in prompts
        for seed in range(seeds)
    ]
    programs = [read_program(OfflineModel().complete(each).text).code for each in requests]
    return list(dict.fromkeys(programs))


def retouched(code: str) -> str:
    """The same program with other names, numbers, strings in print, comments and layout."""
    code = re.sub(r"\b(train|test|model|features)\b(?=[\[ .,)])", r"my_\1", code)
    code = re.sub(r"(?<![\w.])\d+\b", lambda found: str(int(found[0]) + 3), code)
    return "# Written anew.\n" + code.replace("\n\n", "\n\n\n") + "\nprint('that is all')\n"


@pytest.mark.parametrize("task", ["titanic", "shop"])
def test_real_drafts_are_told_apart(task: str) -> None:
    """No two with other models are near copies; a retouched one always is; of the pairs with the
    same models and features some are."""
    programs = drafts(task, 6)
    recipes = [parse_recipe(code) for code in programs]
    likes: list[bool] = []
    for (one, first), (two, second) in combinations(zip(programs, recipes, strict=True), 2):
        assert first is not None
        assert second is not None
        near = similarity(one, two) >= NEAR
        if first.kinds != second.kinds:
            assert not near, (first, second)
        elif first.features == second.features:
            likes.append(near)
    assert len(programs) >= 12
    assert any(likes)
    for code in programs:
        assert similarity(code, retouched(code)) >= NEAR


def test_what_counts_and_what_does_not() -> None:
    assert similarity(PROGRAM, PROGRAM.replace("train", "t").replace("C=1.0", "C=9.5")) == 1
    other = PROGRAM.replace("LogisticRegression(C=1.0)", "SVC(probability=True)")
    other = other.replace("linear_model import LogisticRegression", "svm import SVC")
    assert similarity(PROGRAM, other) < 0.8
    assert similarity(PROGRAM, PROGRAM + "x = (") == 0
    assert similarity("", "") == similarity("x", "") == 0
    assert similarity("(" * 5000, PROGRAM) == 0


@settings(deadline=None)
@given(st.sampled_from([PROGRAM, "x = 1\ny = 2\nz = [x, y]\n", "", "import os\n" * 3]), st.data())
def test_it_is_symmetric_and_bounded(one: str, data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.sampled_from(PROGRAM.split("\n")), max_size=12))
    other = "\n".join(lines)
    assert 0 <= similarity(one, other) == similarity(other, one) <= 1


def test_the_reason_names_the_nearest() -> None:
    far = node(3, code="import os\nprint(os.getcwd(), [n for n in range(10)])\n")
    reason = near_copy(PROGRAM, [far, node(4), node(5, code="broken (")])
    assert reason == "it is nearly the program of node 4 (100% alike); take another approach"
    assert near_copy(PROGRAM, [far]) == near_copy(PROGRAM, []) == ""
