"""Tasks that cannot be used say why, in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aide.errors import TaskError
from tests.task_folders import HOUSES, REAL, WINES, loaded, make

BAD: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("no train", {"test.csv": REAL}, {}, "there is no train.csv in"),
    ("empty", {"train.csv": ""}, {}, "train.csv is empty"),
    (
        "header only",
        {"train.csv": HOUSES[:1]},
        {"target": "price"},
        "train.csv has a header, but no rows",
    ),
    (
        "no target",
        {"train.csv": HOUSES},
        {},
        "cannot be told from the files; name it with --target or in task.toml: "
        "train.csv has the columns Id, rooms, town, price",
    ),
    (
        "wrong target",
        {"train.csv": HOUSES},
        {"target": "prize"},
        "the target column 'prize' is not in train.csv; its columns are: Id, rooms",
    ),
    (
        "two targets",
        {"train.csv": HOUSES, "test.csv": ["Id,rooms", "99,1"]},
        {},
        "the target is in doubt: train.csv has town, price, and test.csv has not",
    ),
    (
        "wrong id",
        {"train.csv": HOUSES},
        {"target": "price", "id": "ID"},
        "the id column 'ID' is not in train.csv",
    ),
    (
        "id not in test",
        {"train.csv": HOUSES, "test.csv": ["rooms", "1"]},
        {"target": "price", "id": "Id"},
        "the id column 'Id' is not in test.csv",
    ),
    (
        "wrong group",
        {"train.csv": HOUSES},
        {"target": "price", "group": "city"},
        "the group column 'city' is not in train.csv",
    ),
    (
        "wrong time",
        {"train.csv": HOUSES},
        {"target": "price", "time": "day"},
        "the time column 'day' is not in train.csv",
    ),
    (
        "no dates",
        {"train.csv": HOUSES},
        {"target": "price", "time": "town"},
        "the time column holds values that are neither numbers nor dates",
    ),
    (
        "unknown metric",
        {"train.csv": HOUSES},
        {"target": "price", "metric": "rsme"},
        "no metric 'rsme'; did you mean 'rmse'? Known: accuracy",
    ),
    (
        "no metric",
        {"train.csv": HOUSES},
        {"target": "price", "metric": None},
        "the metric is not known, since none is given: name one with --metric or in "
        "task.toml; known are: accuracy",
    ),
    (
        "two metrics",
        {"train.csv": HOUSES, "description.md": "The metric is MAE or RMSE."},
        {"target": "price", "metric": None},
        "since the description names several (mae, rmse)",
    ),
    (
        "direction",
        {"train.csv": HOUSES},
        {"target": "price", "maximize": True},
        "maximize is True, but of rmse lower is better",
    ),
    (
        "one class",
        {"train.csv": [WINES[0], *(f"{line[:-1]}r" for line in WINES[1:])]},
        {"target": "sort", "metric": "auc"},
        "all rows have the same label in the target 'sort': r",
    ),
    (
        "one value",
        {"train.csv": [f"{line},{7 if k else 'lot'}" for k, line in enumerate(HOUSES)]},
        {"target": "lot"},
        "all rows have the same value in the target 'lot': 7",
    ),
    (
        "few rows",
        {"train.csv": HOUSES[:15]},
        {"target": "price"},
        "train.csv has 14 rows: at least 20 are needed",
    ),
    (
        "no label",
        {"train.csv": [*HOUSES, "98,1,t1,", "99,1,t1,NA"]},
        {"target": "price"},
        "2 of 62 rows of train.csv have no label in 'price'",
    ),
    (
        "ids twice",
        {"train.csv": [*HOUSES, "7,1,t1,5"]},
        {"target": "price", "id": "Id"},
        "the id '7' in the column 'Id' is there twice, in train.csv: ids must be different",
    ),
    (
        "ids in both",
        {"train.csv": HOUSES, "test.csv": [*REAL, "7,1,t1"]},
        {"id": "Id"},
        "the id '7' in the column 'Id' is there twice, in train.csv and test.csv",
    ),
    (
        "other columns",
        {"train.csv": HOUSES, "test.csv": ["Id,rooms,town,floor", "99,1,t1,2"]},
        {},
        "test.csv has columns that train.csv has not: floor",
    ),
    (
        "empty test",
        {"train.csv": HOUSES, "test.csv": REAL[:1]},
        {},
        "test.csv has a header, but no rows",
    ),
    (
        "nothing else",
        {"train.csv": ["price", *map(str, range(30))]},
        {"target": "price"},
        "there is no column to predict from",
    ),
    (
        "negative",
        {"train.csv": [*HOUSES, "99,1,t1,-5"]},
        {"target": "price", "metric": "rmsle"},
        "rmsle needs labels of 0 or more, but 'price' goes down to -5",
    ),
    (
        "zeros",
        {"train.csv": [*HOUSES, "99,1,t1,0"]},
        {"target": "price", "metric": "mape"},
        "mape divides by the labels, but 'price' has zeros",
    ),
    (
        "no classes",
        {"train.csv": [HOUSES[0], *(f"{line}.5" for line in HOUSES[1:])]},
        {"target": "price", "metric": "auc"},
        "the metric needs classes, but the target 'price' has 60 different values in 60 rows",
    ),
    (
        "no order",
        {"train.csv": WINES},
        {"target": "sort", "metric": "qwk"},
        "qwk needs classes in an order, but those of 'sort' are no numbers, such as 'r'",
    ),
    (
        "no numbers",
        {"train.csv": WINES},
        {"target": "sort", "metric": "mae"},
        "the metric needs numbers, but the target 'sort' holds 's' in train.csv",
    ),
    (
        "stratified numbers",
        {"train.csv": HOUSES},
        {"target": "price", "split": "stratified"},
        "needs classes, and the target is a number",
    ),
    (
        "no such split",
        {"train.csv": HOUSES},
        {"target": "price", "split": "kfold"},
        "the setting split = 'kfold' cannot be used: input should be 'random', "
        "'stratified', 'group' or 'time'",
    ),
    (
        "one-sided holdout",
        {"train.csv": [WINES[0], *(f"{k},{k},{'r' if k < 50 else 's'}" for k in range(60))]},
        {"target": "sort", "metric": "auc", "time": "acid"},
        "final holdout has rows of one class only, on which roc_auc is not defined",
    ),
    (
        "ragged",
        {"train.csv": [*HOUSES, "1,2"]},
        {"target": "price"},
        "line 62 of train.csv has 2 cells, but its header has 4",
    ),
    (
        "unknown key",
        {"train.csv": HOUSES, "task.toml": "targte = 'price'"},
        {},
        "task.toml has an unknown key 'targte'; known are: name, goal, metric, maximize, target",
    ),
    (
        "bad value",
        {"train.csv": HOUSES, "task.toml": "seconds = 'many'"},
        {},
        "task.toml: seconds = 'many' cannot be used: input should be a valid number",
    ),
    (
        "bad toml",
        {"train.csv": HOUSES, "task.toml": "metric = rmse"},
        {},
        "task.toml cannot be read: Invalid value",
    ),
    (
        "sample of one column",
        {"train.csv": HOUSES, "test.csv": REAL, "sample_submission.csv": ["Id", "1001"]},
        {},
        "sample_submission.csv has one column only",
    ),
    (
        "sample of other ids",
        {"train.csv": HOUSES, "test.csv": REAL, "sample_submission.csv": ["Id,price", "5,0"]},
        {},
        "sample_submission.csv has an id that test.csv has not: 5",
    ),
    (
        "sample of other length",
        {
            "train.csv": [line.partition(",")[2] for line in HOUSES],
            "test.csv": [line.partition(",")[2] for line in REAL],
            "sample_submission.csv": ["row,price", "0,0"],
        },
        {},
        "sample_submission.csv has 1 rows, but test.csv has 10",
    ),
    (
        "several to predict",
        {
            "train.csv": HOUSES,
            "test.csv": ["Id,town", "1001,t1"],
            "sample_submission.csv": ["Id,rooms,price", "1001,1,2"],
        },
        {},
        "several columns to predict (rooms, price), which rmse cannot grade",
    ),
    (
        "no such classes",
        {
            "train.csv": WINES,
            "test.csv": ["Id,acid", "1001,1"],
            "sample_submission.csv": ["Id,red,white", "1001,0.5,0.5"],
        },
        {"metric": "log_loss"},
        "columns red, white are not the classes r, s",
    ),
    (
        "own grader without direction",
        {"train.csv": HOUSES, "grade.py": "x = 1"},
        {"target": "price", "metric": None},
        "must say maximize = true or false",
    ),
    (
        "two graders",
        {"train.csv": HOUSES, "grade.py": "x = 1", "task.toml": "metric = 'mae'"},
        {"target": "price", "metric": None},
        "task.toml names the metric 'mae', but there is a grade.py too",
    ),
    (
        "no grader",
        {"train.csv": HOUSES},
        {"target": "price", "metric": "grade.py"},
        "the metric is grade.py, but there is none in",
    ),
]


@pytest.mark.parametrize(
    ("files", "given", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD]
)
def test_bad_input(
    tmp_path: Path, files: dict[str, Any], given: dict[str, Any], message: str
) -> None:
    folder = make(tmp_path / "task", files)
    with pytest.raises(TaskError) as got:
        loaded(folder, **({"metric": "rmse"} | given))
    assert message in str(got.value)
    assert "\n" not in str(got.value)
