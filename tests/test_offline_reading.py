"""What the offline model reads out of a prompt, and out of its own programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aide.llm.offline.drafts import plain_recipe
from aide.llm.offline.facts import read_facts
from aide.llm.offline.fixes import fix
from aide.llm.offline.imports import import_lines
from aide.llm.offline.recipe import Member, Recipe, parse_recipe
from aide.llm.offline.render import render
from tests.offline_tasks import facts, run_programs, task

WIDE = """\
# What is predicted
- Problem: multiclass classification
- Metric: log_loss (lower is better)
- Target column: the: target
- Id column: row
- Submission columns: row, c1, c2
- Classes: c1, c2, ... (45 in all)
- Predict: one probability a class

# Rules
- No network. It must end within 90 seconds, on 2 processors, with 512 MiB of memory.

# Installed packages
Python's standard library, and: lightgbm 4.5.0, numpy 2.1.0, scikit-learn 1.5.1

# Data
input/train.csv: about 12,000 rows, 500 columns
input/test.csv: 3000 rows, 499 columns

Columns of input/train.csv:
- row: int, 12000 unique, 1 to 12000
- the: target: category, 45 unique: c1, c2, ...
- p_0: constant
- p_1 ... p_80: 80 columns, int, 0 to 255
- p_81: int, 3% missing, 3 unique, -1.5e+2 to 12.5
- size: of room: float, <1% missing, 88 unique, 0.42 to 80
- name: text, 9,713 unique, 27 characters on average, such as "A: int, 5 unique"
- seen: date, 8645 unique, 2011-01-01 to 2011-12-31
- flag: bool, 2 unique
- ... and 340 more columns: 300 float, 40 category
Only in input/train.csv: the: target
First rows of input/train.csv:
row,seen
1,2011-01-01 05:00
"""


def test_a_wide_preview_is_read() -> None:
    known = read_facts(WIDE)
    assert (known.rows, known.seconds, known.memory_mb) == (12000, 90, 512)
    assert known.class_count == 45
    assert known.target == "the: target"
    assert known.classes == ("c1", "c2")
    assert known.packages == {"lightgbm", "numpy", "scikit-learn"}
    assert (known.predict, known.maximize, known.metric) == ("probability", False, "log_loss")
    assert known.number_of("float") == 301
    assert known.number_of("category") == 40
    assert known.number_of("text") == 1
    assert known.has("time")
    names = [column.name for column in known.features]
    assert names == ["p_0", "size: of room", "name", "seen", "flag", "... float", "... category"]
    run = known.features[0]
    assert (run.count, run.kind, run.low, run.high, run.missing) == (82, "int", -150, 255, True)


def test_a_run_in_pieces_is_an_image_if_it_makes_a_square() -> None:
    text = WIDE.replace("- p_81: int", "- q: int").replace("p_80: 80", "p_99: 99")
    assert read_facts(text).side == 10
    assert read_facts(WIDE).side == 0


def test_a_recipe_is_read_back_from_its_program() -> None:
    known = facts("titanic")
    member = Member("svm", "target", "knn", "power", "pca", (("C", "10.0"), ("gamma", "0.1")))
    other = Member("mlp", params=(("hidden_layer_sizes", "(128, 64)"),))
    recipe = Recipe((member, other), ("titles",), decide="threshold", combine="average", rows=99)
    assert parse_recipe(render(recipe, known)) == recipe


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Recipe:", "Notes:"),
        ("model: svm", "model: oracle"),
        ("encoder: onehot", "encoder: magic"),
        ("features: as given", "features: horoscope"),
        ("bags: 1", "bags: many"),
        ("folds: 3", "folds: 0"),
        ("; clip: none", ""),
    ],
)
def test_a_recipe_that_makes_no_sense_is_not_read(old: str, new: str) -> None:
    program = render(plain_recipe("svm", facts("titanic")), facts("titanic"))
    assert parse_recipe(program) is not None
    assert old in program
    assert parse_recipe(program.replace(old, new)) is None


def test_imports_are_those_that_the_code_names() -> None:
    body = 'a = np.zeros(3)  \nb = "PCA and pd"\nmodel = make_pipeline(Ridge())\nre.sub\n'
    assert import_lines(body) == [
        "import re",
        "",
        "import numpy as np",
        "from sklearn.linear_model import Ridge",
        "from sklearn.pipeline import make_pipeline",
    ]


def test_programs_quote_odd_names() -> None:
    odd = replace(facts("titanic"), target='a "b" \\ c', id="it's")
    program = render(plain_recipe("hgb", odd), odd)
    names: dict[str, str] = {}
    lines = [line for line in program.splitlines() if line.startswith(("ID =", "TARGET ="))]
    exec("\n".join(lines), names)
    assert (names["TARGET"], names["ID"]) == ('a "b" \\ c', "it's")


def test_texts_alone_become_columns(tmp_path: Path) -> None:
    known = facts("letters")
    assert known.width == known.number_of("text")
    recipe = plain_recipe("linear", known)
    assert recipe.features
    bare = replace(recipe, features=())
    programs = [("letters", render(r, known)) for r in (recipe, bare)]
    good, bad = run_programs(programs, tmp_path)
    assert good.ok, good.log
    task("letters").grade(good.submission, "search")
    assert not bad.ok
    assert fix(bare, known, bad.log, 0)[1] == recipe


def test_a_refused_correction_is_followed_by_other_ones() -> None:
    known = facts("shop")
    recipe = replace(plain_recipe("mlp", known), columns="train")
    ideas = [fix(recipe, known, "KeyError: 'sales'", tries)[1] for tries in range(4)]
    assert ideas[0].columns == "test"
    assert len(set(ideas)) >= 3
    assert recipe not in ideas
