"""The static check and the hash that copies share."""

from __future__ import annotations

import pytest

from aide.errors import ReplyError
from aide.operators.check import check, normalised_hash
from tests.trees import PROGRAM


def submits(body: str) -> str:
    return body + '\nopen("working/submission.csv", "w")\n'


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("", "the program is empty"),
        ("# nothing\n", "the program is empty"),
        ('"""Writes submission.csv."""\n', "the program is empty"),
        ('"""Writes submission.csv."""\nx = 1\n', "never writes"),
        ('def f():\n    """submission.csv"""\n', "never writes"),
        ('open("input/sample_submission.csv")\n', "never writes"),
        (submits("x = 1 +"), "^line 1: invalid syntax: `x = 1 [+]`$"),
        (submits("if x:\ny = 1"), "^line 2: expected an indented block"),
        (submits("(" * 1000 + ")" * 1000), "line 1: too many nested|nested too deeply"),
        (submits("x = " + "-" * 100_000 + "1"), "nested too deeply"),
    ],
)
def test_check_refuses(code: str, reason: str) -> None:
    with pytest.raises(ReplyError, match=reason):
        check(code)


@pytest.mark.parametrize(
    "code",
    [
        PROGRAM,
        submits(r'x = "\d"'),
        'folder = "working"\nopen(f"{folder}/submission.csv", "w")\n',
    ],
)
def test_check_accepts(code: str) -> None:
    check(code)


def test_formatting_does_not_change_the_hash() -> None:
    one = 'import a\n\n\ndef f(x):\n    """Doc."""\n    return (x + 1)  # more\n\ny = "s"\n'
    two = "import a\ndef f( x ):\n  return x+1\ny='s'\n"
    assert normalised_hash(one) == normalised_hash(two)
    assert normalised_hash(one) != normalised_hash(two.replace("1", "2"))
    assert normalised_hash('def f():\n    "doc"') == normalised_hash("def f(): pass")


def test_the_hash_takes_anything() -> None:
    deep = "x = " + "+".join("1" * 5000)
    texts = ["", " \n", "x = (", deep, deep + "+2", "\0", "\ud800", PROGRAM]
    hashes = [normalised_hash(text) for text in texts]
    assert hashes[:2] == ["", ""]
    assert len(set(hashes[2:])) == 6
