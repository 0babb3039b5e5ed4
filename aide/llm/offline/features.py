"""The features that the author can make: the functions of `templates/features_*.j2`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Trait = Literal[
    "missing", "numeric", "numerics", "category", "categories", "text", "strings", "date",
    "time", "pixels", "scale", "years", "counts", "any",
]  # fmt: skip
"""What the data must have for a feature to say anything; see `Facts.has`."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A group of derived columns.

    Attributes:
        needs: the trait of the data that it works on.
        role: "changes" columns in place, "adds" columns, or "drops" some of all at the end.
        strong: it works on the numeric columns that correlate best with the target.
    """

    needs: Trait
    role: Literal["changes", "adds", "drops"] = "adds"
    strong: bool = False

    def __post_init__(self) -> None:
        assert self.role == "adds" or not self.strong


FEATURES: dict[str, Feature] = {
    "quality-scale": Feature("scale", "changes"),
    "rare-levels": Feature("category", "changes"),
    "clip-outliers": Feature("numeric", "changes"),
    "log-skewed": Feature("numeric", "changes"),
    "missing-flags": Feature("missing"),
    "missing-count": Feature("missing"),
    "date-parts": Feature("date"),
    "date-hour": Feature("time"),
    "date-cycles": Feature("date"),
    "date-elapsed": Feature("date"),
    "date-weekend": Feature("date"),
    "titles": Feature("text"),
    "text-shape": Feature("text"),
    "first-letter": Feature("text"),
    "first-word": Feature("text"),
    "text-number": Feature("text"),
    "group-size": Feature("text"),
    "words": Feature("text"),
    "characters": Feature("text"),
    "level-counts": Feature("category"),
    "level-pairs": Feature("categories"),
    "level-means": Feature("category", strong=True),
    "numbers-as-levels": Feature("counts"),
    "ratios": Feature("numerics", strong=True),
    "products": Feature("numerics", strong=True),
    "squares": Feature("numeric", strong=True),
    "bins": Feature("numeric", strong=True),
    "row-statistics": Feature("numerics"),
    "name-sums": Feature("numerics"),
    "year-gaps": Feature("years"),
    "clusters": Feature("numerics"),
    "pixel-sums": Feature("pixels"),
    "pixel-gradients": Feature("pixels"),
    "pixel-blur": Feature("pixels"),
    "pixel-symmetry": Feature("pixels"),
    "drop-constant": Feature("any", "drops"),
    "drop-correlated": Feature("numerics", "drops"),
}
